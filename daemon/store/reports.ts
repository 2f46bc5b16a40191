import { type ExpressionBuilder, type RawBuilder, sql } from "kysely";
import type { CostSource } from "../../core/record.ts";
import type { Millis } from "../../core/time.ts";
import type { Period, StoreConnections } from "./connections.ts";
import { type DayZone, dayOf } from "./days.ts";
import { lastInstant } from "./request-rows.ts";
import type { Tables } from "./tables.ts";

/** What a report is grouped by; `total` is one row. */
export type ReportGrouping = "project" | "model" | "provider" | "client" | "day" | "total";

/** What a report is asked for. An absent filter lets everything pass. */
export interface ReportQuery extends Period {
  by: ReportGrouping;
  project?: string;
  model?: string;
  provider?: string;
  /** Whose days `by: "day"` means. Default: `local`. */
  days?: DayZone;
}

/** Sums of the counts that providers stated; `null` where none of the requests had the count. */
export interface TokenSums {
  prompt: bigint | null;
  cacheRead: bigint | null;
  cacheWrite: bigint | null;
  /** A part of `cacheWrite`. */
  cacheWrite1h: bigint | null;
  completion: bigint | null;
  thinking: bigint | null;
}

/** Requests of one `cost_source`, and what they cost together. */
export interface SourceShare {
  requests: number;
  costPicoUsd: bigint;
}

/** One line of a report. Sums are exact. */
export interface ReportRow {
  /** Project, model, provider, client or date; `null` where the client is not known, and for the total. */
  key: string | null;
  requests: number;
  errors: number;
  /** Requests without a cost, which `costPicoUsd` therefore lacks; not those that failed and used nothing. */
  unpriced: number;
  /** Requests whose tokens are missing or were cut off. */
  incomplete: number;
  tokens: TokenSums;
  costPicoUsd: bigint;
  bySource: Readonly<Record<CostSource, SourceShare>>;
}

/** Questions over all requests. */
export interface ReportStore {
  /** Sums by group, without a cap on rows: days in order, everything else by falling cost. No requests, no rows. */
  report(query: ReportQuery): Promise<ReportRow[]>;
}

/** Money is summed in two halves, since 64 bits hold only 9.2 million USD in pico-USD and SQLite's `sum()` then fails. */
const half = 1_000_000_000n;
const halfSql = sql.raw(half.toString());

/** A group and one cost source, as SQL sums it. */
export interface SumRow {
  key: string | null;
  cost_source: string;
  requests: number;
  errors: number;
  unpriced: number;
  incomplete: number;
  prompt: number | bigint | null;
  cache_read: number | bigint | null;
  cache_write: number | bigint | null;
  cache_write_1h: number | bigint | null;
  completion: number | bigint | null;
  thinking: number | bigint | null;
  cost_high: number | bigint | null;
  cost_low: number | bigint | null;
}

/** The columns of a `SumRow` but its key. */
export function sums(eb: ExpressionBuilder<Tables, "requests">) {
  const sum = (column: RawBuilder<unknown>) => sql<number | bigint | null>`sum(${column})`;
  const count = (condition: RawBuilder<unknown>) => sql<number>`count(*) FILTER (WHERE ${condition})`;
  return [
    "cost_source" as const,
    eb.fn.countAll<number>().as("requests"),
    count(sql`error_class IS NOT NULL`).as("errors"),
    count(sql`cost_pico_usd IS NULL
      AND NOT (error_class IS NOT NULL AND prompt_tokens IS NULL AND completion_tokens IS NULL)`).as(
      "unpriced",
    ),
    count(sql`tokens_complete = 0`).as("incomplete"),
    sum(sql`prompt_tokens`).as("prompt"),
    sum(sql`cache_read_tokens`).as("cache_read"),
    sum(sql`cache_write_tokens`).as("cache_write"),
    sum(sql`cache_write_1h_tokens`).as("cache_write_1h"),
    sum(sql`completion_tokens`).as("completion"),
    sum(sql`thinking_tokens`).as("thinking"),
    sum(sql`cost_pico_usd / ${halfSql}`).as("cost_high"),
    sum(sql`cost_pico_usd % ${halfSql}`).as("cost_low"),
  ] as const;
}

const big = (value: number | bigint | null): bigint | null => (value === null ? null : BigInt(value));
const plus = (a: bigint | null, b: bigint | null): bigint | null => (a === null ? b : b === null ? a : a + b);

/** A line without requests. */
export function emptyReportRow(key: string | null): ReportRow {
  const none = (): SourceShare => ({ requests: 0, costPicoUsd: 0n });
  return {
    key,
    requests: 0,
    errors: 0,
    unpriced: 0,
    incomplete: 0,
    tokens: {
      prompt: null,
      cacheRead: null,
      cacheWrite: null,
      cacheWrite1h: null,
      completion: null,
      thinking: null,
    },
    costPicoUsd: 0n,
    bySource: { computed: none(), provider: none(), estimated: none(), unpriced: none() },
  };
}

/** The line with the part in it. */
export function addSumRow(row: ReportRow, part: SumRow): ReportRow {
  const cost = (big(part.cost_high) ?? 0n) * half + (big(part.cost_low) ?? 0n);
  // A word that is none of ours (a damaged cell) vouches for nothing.
  const source = part.cost_source in row.bySource ? (part.cost_source as CostSource) : "estimated";
  const share = row.bySource[source];
  return {
    key: row.key,
    requests: row.requests + part.requests,
    errors: row.errors + part.errors,
    unpriced: row.unpriced + part.unpriced,
    incomplete: row.incomplete + part.incomplete,
    tokens: {
      prompt: plus(row.tokens.prompt, big(part.prompt)),
      cacheRead: plus(row.tokens.cacheRead, big(part.cache_read)),
      cacheWrite: plus(row.tokens.cacheWrite, big(part.cache_write)),
      cacheWrite1h: plus(row.tokens.cacheWrite1h, big(part.cache_write_1h)),
      completion: plus(row.tokens.completion, big(part.completion)),
      thinking: plus(row.tokens.thinking, big(part.thinking)),
    },
    costPicoUsd: row.costPicoUsd + cost,
    bySource: {
      ...row.bySource,
      [source]: { requests: share.requests + part.requests, costPicoUsd: share.costPicoUsd + cost },
    },
  };
}

/** One row per group out of one per group and cost source. */
function folded(parts: readonly SumRow[]): ReportRow[] {
  const rows = new Map<string | null, ReportRow>();
  for (const part of parts)
    rows.set(part.key, addSumRow(rows.get(part.key) ?? emptyReportRow(part.key), part));
  return [...rows.values()];
}

const byText = (a: string | null, b: string | null) => ((a ?? "") < (b ?? "") ? -1 : a === b ? 0 : 1);
/** The costliest first. */
export const byCost = (a: ReportRow, b: ReportRow) =>
  a.costPicoUsd === b.costPicoUsd ? byText(a.key, b.key) : a.costPicoUsd > b.costPicoUsd ? -1 : 1;

/** Makes the part of the store that answers reports. */
export function createReportStore({ reader }: Pick<StoreConnections, "reader">): ReportStore {
  /** What remains of the requests after period and filters. */
  const filtered =
    ({ from, to, project, model, provider }: ReportQuery) =>
    (eb: ExpressionBuilder<Tables, "requests">) =>
      eb.and([
        ...(from === null ? [] : [eb("requests.requested_at", ">=", from)]),
        ...(to === null ? [] : [eb("requests.requested_at", "<", to)]),
        ...(project === undefined ? [] : [eb("requests.project", "=", project)]),
        ...(model === undefined ? [] : [eb("requests.model", "=", model)]),
        ...(provider === undefined ? [] : [eb("requests.provider", "=", provider)]),
      ]);

  /** The sums of one group and cost source each, all under the same key where the query itself groups by none. */
  function sumsOf(query: ReportQuery, column: "project" | "model" | "provider" | "client" | null) {
    return reader
      .selectFrom("requests")
      .select(sql<string | null>`${column === null ? sql`NULL` : sql.ref(column)}`.as("key"))
      .select(sums)
      .where(filtered(query))
      .groupBy(column === null ? ["cost_source"] : [column, "cost_source"])
      .execute();
  }

  /**
   * Day bounds are found here, not by SQLite, so that they follow the runtime's time zone with its summer times. Only
   * days that hold requests are visited: one search in the index for each, so a row from the year 9999 costs no more.
   */
  async function byDay(query: ReportQuery): Promise<ReportRow[]> {
    const rows: ReportRow[] = [];
    const end = Math.min(query.to ?? Number.POSITIVE_INFINITY, lastInstant + 1);
    let from: Millis = Math.max(query.from ?? 0, 0);
    for (;;) {
      const first = await reader
        .selectFrom("requests")
        .select((eb) => eb.fn.min<number | null>("requested_at").as("at"))
        .where(filtered({ by: "total", from, to: end }))
        .executeTakeFirst();
      if (first === undefined || first.at === null) return rows;
      const day = dayOf(first.at, query.days ?? "local");
      const parts = await sumsOf({ ...query, from: first.at, to: Math.min(day.to, end) }, null);
      rows.push(...folded(parts.map((part) => ({ ...part, key: day.date }))));
      from = day.to;
    }
  }

  return {
    async report(query) {
      const { by } = query;
      if (by === "day") return byDay(query);
      return folded(await sumsOf(query, by === "total" ? null : by)).sort(byCost);
    },
  };
}
