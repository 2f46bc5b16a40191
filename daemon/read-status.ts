import { describeLetThrough, describeLetThroughTotal } from "../core/budgets/let-through.ts";
import {
  listUnlistedHosts,
  providerLines,
  splitAddedHosts,
} from "../core/metering/coverage/unlisted-hosts.ts";
import { formatQuantity } from "../core/values/text/format-quantity.ts";
import { DAY_MS } from "../core/values/time.ts";
import {
  configuredProvider,
  type DaemonHealth,
  type DaemonState,
  type DaemonStatus,
  findDaemonFault,
} from "./api/daemon-status.ts";
import { TELEMETRY_PATH } from "./api/telemetry-path.ts";
import { readLastReport, type TelemetryStatus } from "./api/telemetry-status.ts";
import type { LetThroughTotals } from "./budgets/budget-tracker.ts";
import { budgetViews, describeBudgetTroubles } from "./budgets/budget-views.ts";
import type { OtlpStatus } from "./otlp/otlp-service.ts";
import type { RunningDaemon } from "./running-daemon.ts";
import type { RecordWriterHealth } from "./store/record-writer.ts";
import type { WebhookStatus } from "./webhooks/webhook-worker.ts";

/** Returns the writer's health, or the trouble of the store if the writer has not noticed it yet. */
export function readStoreHealth({ ports, writer }: RunningDaemon): RecordWriterHealth {
  const health = writer.health();
  const { trouble } = ports.store;
  if (trouble === null || health.capturing === "failing") return health;
  const { reason, message } = trouble;
  return { ...health, capturing: "failing", lastError: { reason, message, at: ports.now() } };
}

/** Reads the health without the database. */
export function readHealth(daemon: RunningDaemon): DaemonHealth {
  const { ports, startedAt, watchdog } = daemon;
  const fault = findDaemonFault({ store: readStoreHealth(daemon), proxy: { watchdog: watchdog.status } });
  return {
    status: fault === null ? "ok" : "degraded",
    version: ports.version,
    started_at: new Date(startedAt).toISOString(),
  };
}

/** Reads the status. Throws a `StoreError` if the database can't be read. */
export const readStatus = (daemon: RunningDaemon): DaemonStatus => ({
  ...readState(daemon),
  last_24_hours: readLastDay(daemon),
});

/** Reads what was counted in the last 24 hours. Throws a `StoreError` if the database can't be read. */
export function readLastDay({
  ports: { now, registry, store },
}: RunningDaemon): DaemonStatus["last_24_hours"] {
  const since = now() - DAY_MS;
  const coverage = store.coverage.read({ from: since, to: null });
  const { unlisted } = splitAddedHosts(listUnlistedHosts(coverage), registry.isProviderHost);
  return {
    coverage,
    unlisted_hosts: unlisted.map((host) => ({ ...host, lines: providerLines(host) })),
    last_captures: store.records
      .lastCaptures(since)
      .map(({ client, at }) => ({ client, at: new Date(at).toISOString() })),
  };
}

/** Reads the state. Throws a `StoreError` if telemetry is received and the database can't be read. */
export function readState(daemon: RunningDaemon): DaemonState {
  const { ports, proxy, startedAt, sweep, watchdog } = daemon;
  const { store } = ports;
  return {
    version: ports.version,
    started_at: new Date(startedAt).toISOString(),
    proxy: {
      port: proxy.port,
      connections: proxy.connections(),
      restarts: daemon.restarts(),
      watchdog: watchdog.status,
      counters: proxy.counters(),
      unused_by_trusting: daemon.capture.unusedByTrusting(),
      distrusting_programs: daemon.capture
        .distrustingPrograms()
        .map(({ lastSeenAt, ...program }) => ({ ...program, last_seen: new Date(lastSeenAt).toISOString() })),
    },
    api: { port: daemon.served.port },
    telemetry: daemon.config.receiveTelemetry === true ? readTelemetry(daemon) : null,
    store: { ...readStoreHealth(daemon), set_aside: store.setAsidePath, bodies_held: sweep.held },
    configured_providers: ports.registry.operatorHosts.map(configuredProvider),
    warnings: listWarnings(daemon),
  };
}

const readTelemetry = ({ ports, refusals }: RunningDaemon): TelemetryStatus => ({
  path: TELEMETRY_PATH,
  last_report: readLastReport(ports.store.clientReports),
  ...refusals.read(),
});

function listWarnings(daemon: RunningDaemon): readonly string[] {
  const { ports, config, budgets } = daemon;
  const lost = ports.logLinesLost?.() ?? 0;
  const failing = (ports.webhooks?.status() ?? []).filter(
    ({ consecutiveFailures }) => consecutiveFailures > 0,
  );
  return [
    ...config.warnings,
    ...describeProxyLoss(daemon),
    ...listLetThrough(daemon),
    ...(lost === 0 ? [] : [`${lost} lines of the log could not be written.`]),
    ...failing.map(describeFailure),
    ...describeExport(ports.otlp?.status()),
    ...describeBudgetTroubles(budgetViews(budgets.state(), ports.now())),
  ];
}

/** Returns how many calls were sent since the start although a budget could not decide on them. */
export function readLetThrough({ proxy, budgets }: RunningDaemon): LetThroughTotals {
  const { early } = proxy.counters().gate;
  const { calls, byBudget } = budgets.letThroughSums();
  return { calls: calls + early, early, byBudget };
}

/** Says for a day that the proxy ended by itself and was started again. */
function describeProxyLoss({ ports, lastProxyLoss }: RunningDaemon): string[] {
  const loss = lastProxyLoss();
  if (loss === null || ports.now() - loss.at > DAY_MS) return [];
  return [
    `The proxy crashed (${loss.cause}) at ${new Date(loss.at).toISOString()} and was started again. Calls in flight were cut.`,
  ];
}

function listLetThrough(daemon: RunningDaemon): string[] {
  const { calls, early, byBudget } = readLetThrough(daemon);
  if (calls === 0) return [];
  const reasons = [...byBudget].map(([name, counts]) => `${name}: ${describeLetThrough(counts)}.`);
  return [[describeLetThroughTotal(calls, early), ...reasons].join(" ")];
}

/** Says that the export fails, and what the collector refused. */
export function describeExport(status: OtlpStatus | undefined): string[] {
  if (status === undefined) return [];
  const { host, consecutiveFailures, lastError, refused, lastRefusal } = status;
  const attempts = formatQuantity(consecutiveFailures, "attempt");
  const parts = [
    ...(refused.traces > 0 ? [formatQuantity(refused.traces, "span")] : []),
    ...(refused.logs > 0 ? [formatQuantity(refused.logs, "log record")] : []),
    ...(refused.metrics > 0 ? [formatQuantity(refused.metrics, "data point")] : []),
  ];
  return [
    ...(consecutiveFailures > 0
      ? [
          `The export of telemetry to ${host} failed (${attempts}, last: ${lastError}). What it missed is sent once it works.`,
        ]
      : []),
    ...(parts.length > 0
      ? [
          `The collector at ${host} refused ${parts.join(", ")} since the daemon started (last: ${lastRefusal}). They are not sent again.`,
        ]
      : []),
  ];
}

/** Says that a webhook fails, or wants no more messages. */
export function describeFailure({ host, consecutiveFailures, lastError, isGone }: WebhookStatus): string {
  if (isGone)
    return `The webhook at ${host} answered 410 (Gone), so nothing more is sent to it. Remove it from config.toml, or try it again: meter stop && meter start`;
  const attempts = formatQuantity(consecutiveFailures, "attempt");
  return `The webhook at ${host} failed (${attempts}, last: ${lastError}). What it missed is sent once it answers. Try it: meter webhook test`;
}
