import type { CoverageKind } from "../../core/metering/coverage/coverage-kinds.ts";
import { formatPicoUsd } from "../../core/pricing/money.ts";
import { effectiveBilling } from "../../core/values/billing.ts";
import type { BillingMode, RequestRecord } from "../../core/values/record.ts";
import { formatMetric, type MetricSample } from "../../core/values/text/format-metric.ts";
import { type BudgetFigures, formatBudgets } from "./budget-metrics.ts";
import type { DaemonState } from "./daemon-status.ts";

/** The most series for models, for projects and for budgets that refused calls. Further names are counted as `other`. */
const MAX_SERIES = 100;

/** The longest label value, in characters. */
const MAX_LABEL = 100;

/** The label of everything beyond `MAX_SERIES`. */
const OTHER = "other";

const tokenKinds = {
  prompt: "promptTokens",
  completion: "completionTokens",
  cache_read: "cacheReadTokens",
  cache_write: "cacheWriteTokens",
  thinking: "thinkingTokens",
} as const;

type TokenKind = keyof typeof tokenKinds;

const TOKEN_KINDS = Object.keys(tokenKinds) as TokenKind[];

interface Series {
  readonly labels: readonly string[];
  requests: number;
  failed: number;
  blocked: number;
  unpriced: number;
  /** The cost by who pays. A mode without priced requests is absent. */
  readonly costs: Map<BillingMode, bigint>;
  tokens: Record<TokenKind, number>;
}

/** Counters since the daemon started. */
export interface MeteredCounters {
  addRecords(records: readonly RequestRecord[]): void;
  addCoverage(kind: CoverageKind): void;
  /** Returns the counters in the Prometheus text format. */
  render(status: DaemonState, budgets?: Omit<BudgetFigures, "refused">): string;
}

const emptySeries = (labels: readonly string[]): Series => ({
  labels,
  requests: 0,
  failed: 0,
  blocked: 0,
  unpriced: 0,
  costs: new Map(),
  tokens: { prompt: 0, completion: 0, cache_read: 0, cache_write: 0, thinking: 0 },
});

/** Returns the series of the labels, or the shared one if there are too many. */
function seriesOf(all: Map<string, Series>, labels: readonly string[]): Series {
  const cut = labels.map((label) => label.slice(0, MAX_LABEL));
  const key = cut.join("\0");
  const known = all.get(key);
  if (known !== undefined) return known;
  if (all.size >= MAX_SERIES && cut.some((label) => label !== OTHER))
    return seriesOf(
      all,
      cut.map(() => OTHER),
    );
  const series = emptySeries(cut);
  all.set(key, series);
  return series;
}

function add(series: Series, record: RequestRecord): void {
  series.requests++;
  if (record.blockedBy != null) series.blocked++;
  if (record.errorClass !== null) series.failed++;
  if (record.costPicoUsd === null) series.unpriced++;
  else {
    const mode = effectiveBilling(record);
    series.costs.set(mode, (series.costs.get(mode) ?? 0n) + record.costPicoUsd);
  }
  for (const kind of TOKEN_KINDS) series.tokens[kind] += record.tokens[tokenKinds[kind]] ?? 0;
}

/** What is counted. */
interface State {
  readonly models: Map<string, Series>;
  readonly projects: Map<string, Series>;
  readonly coverage: Map<CoverageKind, number>;
  /** The refused calls by budget. */
  readonly refused: Map<string, number>;
}

/** Creates the counters, all at zero. */
export function createMeteredCounters(): MeteredCounters {
  const state: State = { models: new Map(), projects: new Map(), coverage: new Map(), refused: new Map() };
  return {
    addRecords(records) {
      for (const record of records) {
        add(seriesOf(state.models, [record.provider, record.model]), record);
        add(seriesOf(state.projects, [record.project]), record);
        if (record.blockedBy != null) countRefused(state, record.blockedBy);
      }
    },
    addCoverage(kind) {
      state.coverage.set(kind, (state.coverage.get(kind) ?? 0) + 1);
    },
    render: (status, budgets) =>
      [
        ...formatBuild(status),
        ...formatMetered(state),
        ...(budgets === undefined ? [] : formatBudgets({ ...budgets, refused: state.refused })),
        ...formatStore(status),
        ...formatProxy(status),
      ]
        .map((metric) => `${metric}\n`)
        .join(""),
  };
}

function countRefused({ refused }: State, budget: string): void {
  const name = refused.has(budget) || refused.size < MAX_SERIES ? budget : OTHER;
  refused.set(name, (refused.get(name) ?? 0) + 1);
}

function perModel({ models }: State, samplesOf: (series: Series) => readonly MetricSample[]): MetricSample[] {
  return [...models.values()].flatMap((series) => {
    const [provider = "", model = ""] = series.labels;
    return samplesOf(series).map(([labels, value]): MetricSample => [{ provider, model, ...labels }, value]);
  });
}

function perProject(
  { projects }: State,
  samplesOf: (series: Series) => readonly MetricSample[],
): MetricSample[] {
  return [...projects.values()].flatMap((series) =>
    samplesOf(series).map(
      ([labels, value]): MetricSample => [{ project: series.labels[0] ?? "", ...labels }, value],
    ),
  );
}

function costSamples({ costs }: Series): MetricSample[] {
  return [...costs].map(([billing, picoUsd]) => [{ billing }, formatPicoUsd(picoUsd)]);
}

function perReason(counts: Readonly<Record<string, number | undefined>>): MetricSample[] {
  return Object.entries(counts).map(([reason, n]) => [{ reason }, n ?? 0]);
}

function one(value: number | string): MetricSample[] {
  return [[{}, value]];
}

function formatBuild({ version, started_at }: DaemonState): string[] {
  return [
    formatMetric("meter_build_info", "gauge", "The daemon's version.", [[{ version }, 1]]),
    formatMetric(
      "meter_start_time_seconds",
      "gauge",
      "When the daemon started.",
      one(Date.parse(started_at) / 1000),
    ),
  ];
}

function formatMetered(state: State): string[] {
  return [
    formatMetric(
      "meter_requests_total",
      "counter",
      'Metered requests since the start. outcome="blocked" were refused by a budget and not sent.',
      perModel(state, ({ requests, failed, blocked }) => [
        [{ outcome: "ok" }, requests - failed - blocked],
        [{ outcome: "failed" }, failed],
        ...(blocked === 0 ? [] : [[{ outcome: "blocked" }, blocked] as const]),
      ]),
    ),
    formatMetric(
      "meter_tokens_total",
      "counter",
      "Tokens that providers stated, in disjoint kinds.",
      perModel(state, ({ tokens }) => Object.entries(tokens).map(([type, n]): MetricSample => [{ type }, n])),
    ),
    formatMetric(
      "meter_cost_usd_total",
      "counter",
      'Cost of the requests that have a price, by who pays. billing=~"metered|credits|free" is what was spent.',
      perModel(state, costSamples),
    ),
    formatMetric(
      "meter_unpriced_requests_total",
      "counter",
      "Requests without a known price, which the cost leaves out.",
      perModel(state, ({ unpriced }) => [[{}, unpriced]]),
    ),
    formatMetric(
      "meter_project_requests_total",
      "counter",
      "Metered requests by project, with those that a budget refused.",
      perProject(state, ({ requests }) => [[{}, requests]]),
    ),
    formatMetric(
      "meter_project_cost_usd_total",
      "counter",
      "Cost by project, by who pays.",
      perProject(state, costSamples),
    ),
    formatMetric(
      "meter_coverage_total",
      "counter",
      "Connections and calls to providers, by outcome.",
      [...state.coverage].map(([kind, n]): MetricSample => [{ kind }, n]),
    ),
  ];
}

function formatStore({ store }: DaemonState): string[] {
  return [
    formatMetric(
      "meter_store_capturing",
      "gauge",
      "1 while records can be stored, 0 while they can't.",
      one(store.capturing === "ok" ? 1 : 0),
    ),
    formatMetric("meter_store_pending_records", "gauge", "Records waiting to be stored.", one(store.pending)),
    formatMetric("meter_store_records_total", "counter", "Records stored.", one(store.stored)),
    formatMetric(
      "meter_store_dropped_total",
      "counter",
      "Records and bodies lost.",
      perReason(store.dropped),
    ),
  ];
}

function formatProxy(status: DaemonState): string[] {
  return [...formatConnections(status), ...formatUnmetered(status)];
}

function formatConnections({ proxy }: DaemonState): string[] {
  const { counters } = proxy;
  return [
    formatMetric(
      "meter_proxy_connections",
      "gauge",
      "Open connections to providers.",
      one(proxy.connections),
    ),
    formatMetric(
      "meter_proxy_restarts_total",
      "counter",
      "Times the proxy thread was replaced.",
      one(proxy.restarts),
    ),
    formatMetric(
      "meter_proxy_accepted_total",
      "counter",
      "Connections that the proxy accepted.",
      one(counters.accepted),
    ),
    formatMetric(
      "meter_proxy_served_total",
      "counter",
      "Connections that the proxy served, by mode.",
      perReason({
        intercepted: counters.intercepted,
        gateway: counters.gateway,
        absolute: counters.absolute,
      }).map(([{ reason }, n]): MetricSample => [{ way: reason ?? "" }, n]),
    ),
    formatMetric(
      "meter_proxy_warm_connections",
      "gauge",
      "Connections to providers that are kept ready.",
      one(counters.warm.ready),
    ),
    formatMetric(
      "meter_proxy_warm_total",
      "counter",
      "New connections of clients to providers in recent use that got a ready connection (used) or none (missed), and connections that were closed unused or failed.",
      (["used", "missed", "unused", "failed"] as const).map(
        (result): MetricSample => [{ result }, counters.warm[result]],
      ),
    ),
  ];
}

/** Formats what the proxy did not meter: connections without a request, tunnels and refused requests. */
function formatUnmetered({ proxy: { counters } }: DaemonState): string[] {
  return [
    formatMetric(
      "meter_proxy_closed_unused_total",
      "counter",
      "Connections to providers that were closed before their ClientHello.",
      one(counters.closedUnused),
    ),
    formatMetric(
      "meter_proxy_ended_unused_total",
      "counter",
      "Intercepted connections that ended before the first request.",
      one(counters.endedUnused),
    ),
    formatMetric(
      "meter_proxy_tunnelled_total",
      "counter",
      "Connections tunnelled without reading them.",
      perReason(counters.tunnelled),
    ),
    formatMetric(
      "meter_proxy_refused_total",
      "counter",
      "Requests that the proxy refused.",
      perReason(counters.refused),
    ),
  ];
}
