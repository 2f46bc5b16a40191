import { describeDistrust } from "../../../core/operations/doctor/trust-advice.ts";
import { formatCount } from "../../../core/values/text/format-count.ts";
import { formatQuantity } from "../../../core/values/text/format-quantity.ts";
import type { Millis } from "../../../core/values/time.ts";
import { findDaemonFault, type StatusResponse } from "../../../daemon/api/daemon-status.ts";
import type { UnpricedModelStatus } from "../../../daemon/api/unpriced-models.ts";
import type { ProxyCounters } from "../../../daemon/proxy/counters.ts";
import type { RunningDaemon } from "../../daemon/daemon-process.ts";
import { describeHolder, type Holder } from "../../daemon/find-holder.ts";
import { httpAddress } from "../../daemon/own-address.ts";
import { COULD_NOT_START, PROXY_KEPT_CRASHING, type UnmeteredRelay } from "../../daemon/supervision.ts";
import { authorityFiles } from "../../home/prepare-home.ts";
import { coverageLines } from "../../render/coverage.ts";
import { printable } from "../../render/printable.ts";

/** The facts that `meter status` shows. */
export interface StatusFacts {
  home: string;
  /** The version of this program. */
  version: string;
  running: RunningDaemon | null;
  status: StatusResponse | null;
  /** The service manager that runs the daemon; null if nothing is installed. */
  service?: { readonly manager: string | null } | null;
  databaseBytes: number;
  /** A daemon that holds the home's lock but does not answer; null if there is none. */
  holder?: Pick<Holder, "pid" | "announcement"> | null;
  /** A process that relays without metering, because the daemon keeps crashing or can't start; null if there is none. */
  relay?: UnmeteredRelay | null;
  /** What is wrong with `config.toml`, if no daemon runs. A running one states its own warnings. */
  configWarnings?: readonly string[];
  now: Millis;
}

const VERDICTS = {
  store: "DEGRADED: calls pass, but records can't be stored.",
  proxy: "DEGRADED: the proxy does not answer.",
  unmetered: "DEGRADED: the proxy kept hanging, so calls pass without being metered.",
} as const;

/** How many clients are listed at most. */
const MAX_CLIENTS = 5;

/** How many models without a price are listed at most. */
const MAX_UNPRICED_MODELS = 3;

function ago(ms: number): string {
  const minutes = Math.floor(ms / 60_000);
  if (minutes < 1) return "just now";
  return minutes < 60 ? `${minutes} min ago` : `${Math.floor(minutes / 60)} h ago`;
}

/** Renders `meter status`: the verdict first, then the facts, then the problems. */
export function renderStatus(facts: StatusFacts): string {
  const { home, running, status, databaseBytes, service } = facts;
  const lines =
    running === null || status === null
      ? [describeMissingDaemon(facts), `home      ${home}`, ...(facts.configWarnings ?? []).map(warningLine)]
      : [...daemonLines(facts, running, status), ...problemLines(facts, status)];
  if (service !== undefined) lines.push(`service   ${describeService(service)}`);
  if (databaseBytes > 0)
    lines.push(`database  ${home}/meter.db, ${(databaseBytes / 1024 / 1024).toFixed(1)} MiB`);
  return [...lines, ...(status === null ? [] : deliveryLines(facts, status))].join("\n");
}

const warningLine = (warning: string) => `warning   ${warning}`;

function describeRelayCause({ cause, crashes }: UnmeteredRelay): string {
  if (cause === PROXY_KEPT_CRASHING) return "the proxy kept crashing";
  if (cause === COULD_NOT_START) return "the daemon could not start";
  return `the daemon crashed ${crashes} times within a minute (last: ${cause})`;
}

function describeMissingDaemon({ holder = null, relay = null }: StatusFacts): string {
  if (relay !== null) {
    return `Not metering: ${describeRelayCause(relay)}. Calls pass without being metered. The daemon is started again at ${relay.until}, or now: meter start`;
  }
  if (holder === null) return "Not metering: the daemon is not running. Start it: meter start";
  return describeHolder(holder);
}

function daemonLines(facts: StatusFacts, running: RunningDaemon, status: StatusResponse): string[] {
  const { home } = facts;
  const { proxy, store } = status;
  const fault = findDaemonFault(status);
  const waiting = store.pending > 0 ? `, ${formatCount(store.pending)} waiting` : "";
  return [
    fault === null ? "Metering." : VERDICTS[fault],
    `proxy     ${httpAddress(running.proxy_host, proxy.port)}  (${formatQuantity(proxy.connections, "connection")} to providers open)`,
    ...warmLines(proxy.counters),
    `api       ${httpAddress(running.api_host, status.api.port)}`,
    ...telemetryLines(facts, running, status),
    `process   ${running.pid}, version ${status.version}, since ${status.started_at}`,
    `home      ${home}`,
    `stored    ${formatQuantity(store.stored, "request")} since it started${waiting}`,
  ];
}

/** Renders the receiver of OpenTelemetry, if it is on. An older daemon does not state it. */
function telemetryLines({ now }: StatusFacts, running: RunningDaemon, status: StatusResponse): string[] {
  const { telemetry } = status;
  if (telemetry == null) return [];
  const { path, last_report: last, refused, last_refusal: refusal } = telemetry;
  const latest =
    last === null
      ? "no report yet"
      : `last report ${ago(now - Date.parse(last.at))} from ${printable(last.client)}`;
  const run = "          Report from a program: meter run --telemetry -- <command>";
  return [
    `telemetry ${httpAddress(running.api_host, status.api.port)}${path}  (${latest})`,
    ...(refusal === null
      ? []
      : [
          `          ${formatQuantity(refused, "payload")} refused since the start. The last one: ${refusal.reason}`,
        ]),
    ...(refusal === null && last !== null ? [] : [run]),
  ];
}

/** Renders the connections that are kept ready, once there were any. An older daemon does not report them. */
function warmLines({ warm }: Partial<ProxyCounters>): string[] {
  if (warm === undefined || warm.ready + warm.used + warm.missed === 0) return [];
  const calls = formatQuantity(warm.used + warm.missed, "new connection");
  return [
    `warm      ${formatCount(warm.ready)} ready; ${formatCount(warm.used)} of ${calls} to providers used one`,
  ];
}

/** Renders what is wrong with the daemon, its connections, its configuration and its database. */
function problemLines({ version, home }: StatusFacts, status: StatusResponse): string[] {
  const lines: string[] = [];
  if (status.version !== version)
    lines.push(`The installed version is ${version}. Restart the daemon: meter stop && meter start`);
  const { capturing, lastError, dropped, bodies_held, set_aside } = status.store;
  if (capturing === "failing" && lastError !== null)
    lines.push(`last error  ${lastError.reason}: ${lastError.message}`);
  for (const [reason, lost] of Object.entries(dropped))
    lines.push(`lost      ${formatCount(lost ?? 0)} records: ${reason}`);
  lines.push(...proxyProblemLines(status.proxy, home));
  lines.push(...status.warnings.map(warningLine));
  if (bodies_held !== null)
    lines.push(
      `${formatCount(bodies_held)} captured bodies passed their retention all at once; the clock may be wrong. Delete them: meter bodies sweep`,
    );
  if (set_aside !== null) lines.push(`A damaged database was moved to ${set_aside}.`);
  return lines;
}

function proxyProblemLines(
  {
    restarts,
    watchdog,
    counters,
    unused_by_trusting: unusedByTrusting = 0,
    distrusting_programs: distrusting,
  }: StatusResponse["proxy"],
  home: string,
): string[] {
  const lines: string[] = [];
  if (restarts > 0)
    lines.push(`The proxy was restarted ${restarts === 1 ? "once" : `${formatCount(restarts)} times`}.`);
  if (watchdog !== "healthy")
    lines.push(
      watchdog === "exhausted"
        ? "The proxy hung after three restarts within an hour. An hour after the first of them, it meters calls again. Until then, only calls to the gateway are metered. Meter all calls now: meter stop && meter start"
        : "The proxy does not answer at the moment. The daemon will restart it if that continues.",
    );
  const { refused } = counters;
  const endedUnused = counters.endedUnused - unusedByTrusting;
  if (refused.too_many_connections > 0)
    lines.push(
      `Connections refused because too many were open: ${formatCount(refused.too_many_connections)}.`,
    );
  if (refused.upstream_unreachable > 0)
    lines.push(
      `Connections to hosts that could not be reached: ${formatCount(refused.upstream_unreachable)}. Is this machine online?`,
    );
  if (refused.upstream_tls > 0)
    lines.push(`Connections to hosts without a trusted certificate: ${formatCount(refused.upstream_tls)}.`);
  const named = (distrusting ?? []).map((program) => describeDistrust(program, authorityFiles(home).caFile));
  for (const { text, command } of named) lines.push(text, `          ${command}`);
  if (endedUnused > 0 && named.length === 0)
    lines.push(
      `${formatQuantity(endedUnused, "connection")} to a provider ended before a request. The client may not trust the certificate.`,
      "          Start it with: meter run -- <command>",
    );
  return lines;
}

function describeService(service: { readonly manager: string | null } | null): string {
  if (service === null) return "none. Install one: meter init";
  return service.manager === null
    ? "this machine has no service manager. After a restart of the machine: meter start"
    : `${service.manager} keeps the daemon running`;
}

/** Renders the cloud's state and what the last 24 hours brought. */
function deliveryLines({ now }: StatusFacts, status: StatusResponse): string[] {
  const { coverage, last_captures: captures, unpriced_models: unpriced = [] } = status.last_24_hours;
  const isKnown = (host: string) => !status.last_24_hours.unlisted_hosts.some((each) => each.host === host);
  const clients = captures
    .slice(0, MAX_CLIENTS)
    .map(({ client, at }) => `${printable(client ?? "unknown program")} ${ago(now - Date.parse(at))}`);
  return [
    // An older daemon may not report it.
    ...(status.cloud ? [`cloud     ${status.cloud.banner}: ${status.cloud.sentence}`] : []),
    ...coverageLines(coverage, isKnown).map((line, index) => (index === 0 ? `24 hours  ${line}` : line)),
    ...(clients.length > 0 ? [`programs  ${clients.join(", ")}`] : []),
    ...unpricedLines(unpriced),
  ];
}

/** Renders the models with requests that have no known price, one line each, with the fix. */
function unpricedLines(models: readonly UnpricedModelStatus[]): string[] {
  const lines = models
    .slice(0, MAX_UNPRICED_MODELS)
    .map(
      (model) =>
        `unpriced  ${formatQuantity(model.requests, "request")} to ${printable(`${model.provider} ${model.model}`)}. ${describeFix(model)}`,
    );
  if (models.length > MAX_UNPRICED_MODELS) lines.push("          There are more such models: meter report");
  return lines;
}

function describeFix({ fix, last_request_id }: UnpricedModelStatus): string {
  if (fix === null) return `Why: meter explain ${last_request_id}`;
  if (fix.toml.length > 0) return `The lines that give it a price: meter explain ${last_request_id}`;
  return `Fix: ${fix.commands.join(" && ")}`;
}
