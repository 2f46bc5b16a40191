import { formatPicoUsd } from "../../core/pricing/mod.ts";
import type { RequestRecord } from "../../core/record.ts";
import type { DaemonStatus } from "../daemon-status.ts";
import type { CoverageKind } from "../store/mod.ts";

/** Models and projects that have lines of their own; the rest share one called `other`, whatever a provider sends. */
export const MAX_SERIES = 100;

/** The longest value of a label, in characters. */
const MAX_LABEL = 100;

/** What is counted together where there are too many. */
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
  unpriced: number;
  costPicoUsd: bigint;
  tokens: Record<TokenKind, number>;
}

/** Counts since the daemon's start. */
export interface MeteredCounters {
  addRecords(records: readonly RequestRecord[]): void;
  addCoverage(kind: CoverageKind): void;
  /** The text form of Prometheus. */
  render(status: DaemonStatus): string;
}

const emptySeries = (labels: readonly string[]): Series => ({
  labels,
  requests: 0,
  failed: 0,
  unpriced: 0,
  costPicoUsd: 0n,
  tokens: { prompt: 0, completion: 0, cache_read: 0, cache_write: 0, thinking: 0 },
});

/** The series of these labels, or the shared one where there are too many. */
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
  if (record.errorClass !== null) series.failed++;
  if (record.costPicoUsd === null) series.unpriced++;
  else series.costPicoUsd += record.costPicoUsd;
  for (const kind of TOKEN_KINDS) series.tokens[kind] += record.tokens[tokenKinds[kind]] ?? 0;
}

/** A label's value with the three characters escaped that the format demands. */
const escaped = (value: string) =>
  value.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");

type Sample = readonly [labels: Readonly<Record<string, string>>, value: number | string];

/** One metric with all of its lines. */
function metric(name: string, type: "counter" | "gauge", help: string, samples: readonly Sample[]): string {
  const lines = samples.map(([labels, value]) => {
    const inner = Object.entries(labels).map(([label, text]) => `${label}="${escaped(text)}"`);
    return `${name}${inner.length === 0 ? "" : `{${inner.join(",")}}`} ${value}`;
  });
  return [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, ...lines, ""].join("\n");
}

/** Makes the counters, all at zero. */
export function createMeteredCounters(): MeteredCounters {
  const models = new Map<string, Series>();
  const projects = new Map<string, Series>();
  const coverage = new Map<CoverageKind, number>();

  const perModel = (of: (series: Series) => readonly Sample[]): Sample[] =>
    [...models.values()].flatMap((series) => {
      const [provider = "", model = ""] = series.labels;
      return of(series).map(([labels, value]): Sample => [{ provider, model, ...labels }, value]);
    });
  const perProject = (of: (series: Series) => number | string): Sample[] =>
    [...projects.values()].map((series) => [{ project: series.labels[0] ?? "" }, of(series)]);
  const perReason = (counts: Readonly<Record<string, number | undefined>>): Sample[] =>
    Object.entries(counts).map(([reason, n]) => [{ reason }, n ?? 0]);

  return {
    addRecords(records) {
      for (const record of records) {
        add(seriesOf(models, [record.provider, record.model]), record);
        add(seriesOf(projects, [record.project]), record);
      }
    },
    addCoverage(kind) {
      coverage.set(kind, (coverage.get(kind) ?? 0) + 1);
    },
    render({ version, started_at, proxy, store }) {
      const one = (value: number | string): Sample[] => [[{}, value]];
      const { counters } = proxy;
      return [
        metric("meter_build_info", "gauge", "The daemon's version.", [[{ version }, 1]]),
        metric(
          "meter_start_time_seconds",
          "gauge",
          "When the daemon started.",
          one(Date.parse(started_at) / 1000),
        ),
        metric(
          "meter_requests_total",
          "counter",
          "Metered requests since the start.",
          perModel(({ requests, failed }) => [
            [{ outcome: "ok" }, requests - failed],
            [{ outcome: "failed" }, failed],
          ]),
        ),
        metric(
          "meter_tokens_total",
          "counter",
          "Tokens that providers stated, in disjoint kinds.",
          perModel(({ tokens }) => Object.entries(tokens).map(([type, n]): Sample => [{ type }, n])),
        ),
        metric(
          "meter_cost_usd_total",
          "counter",
          "Cost of the requests that have a price.",
          perModel(({ costPicoUsd }) => [[{}, formatPicoUsd(costPicoUsd)]]),
        ),
        metric(
          "meter_unpriced_requests_total",
          "counter",
          "Requests without a known price, which the cost leaves out.",
          perModel(({ unpriced }) => [[{}, unpriced]]),
        ),
        metric(
          "meter_project_requests_total",
          "counter",
          "Metered requests by project.",
          perProject(({ requests }) => requests),
        ),
        metric(
          "meter_project_cost_usd_total",
          "counter",
          "Cost by project.",
          perProject(({ costPicoUsd }) => formatPicoUsd(costPicoUsd)),
        ),
        metric(
          "meter_coverage_total",
          "counter",
          "What was seen on providers' hosts, by what became of it.",
          [...coverage].map(([kind, n]): Sample => [{ kind }, n]),
        ),
        metric(
          "meter_store_capturing",
          "gauge",
          "1 while records are stored, 0 while they can't be.",
          one(store.capturing === "ok" ? 1 : 0),
        ),
        metric("meter_store_pending_records", "gauge", "Records that wait.", one(store.pending)),
        metric("meter_store_records_total", "counter", "Records stored.", one(store.stored)),
        metric("meter_store_dropped_total", "counter", "Records and bodies lost.", perReason(store.dropped)),
        metric(
          "meter_proxy_connections",
          "gauge",
          "Connections to providers that are open.",
          one(proxy.connections),
        ),
        metric(
          "meter_proxy_restarts_total",
          "counter",
          "How often the proxy was replaced.",
          one(proxy.restarts),
        ),
        metric(
          "meter_proxy_accepted_total",
          "counter",
          "Connections that the proxy accepted.",
          one(counters.accepted),
        ),
        metric(
          "meter_proxy_served_total",
          "counter",
          "Connections that the proxy served, by how they came.",
          perReason({
            intercepted: counters.intercepted,
            gateway: counters.gateway,
            absolute: counters.absolute,
          }).map(([{ reason }, n]): Sample => [{ way: reason ?? "" }, n]),
        ),
        metric(
          "meter_proxy_ended_unused_total",
          "counter",
          "Intercepted connections that ended before a request.",
          one(counters.endedUnused),
        ),
        metric(
          "meter_proxy_tunnelled_total",
          "counter",
          "Connections passed on unread.",
          perReason(counters.tunnelled),
        ),
        metric(
          "meter_proxy_refused_total",
          "counter",
          "Requests that the proxy refused.",
          perReason(counters.refused),
        ),
      ].join("");
    },
  };
}
