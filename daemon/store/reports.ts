import { type ExpressionBuilder, type Kysely, type RawBuilder, sql } from "kysely";
import { APIS_WITH_OPTIONAL_USAGE } from "../../core/metering/estimate/stream-usage.ts";
import { addToSplit } from "../../core/pricing/cost-split.ts";
import { UNPRICED_SQL } from "../../core/pricing/unpriced.ts";
import { EFFECTIVE_BILLING_SQL } from "../../core/values/billing.ts";
import type { BillingMode, CostSource } from "../../core/values/record.ts";
import type { Millis } from "../../core/values/time.ts";
import type { StoreConnections } from "./connections.ts";
import {
  type ReportColumn,
  type ReportGrouping,
  type ReportQuery,
  type ReportRow,
  type ReportStore,
  type SourceShare,
  type StreamsWithoutUsage,
  TIME_UNITS,
  type TimeUnit,
  type UnpricedModel,
} from "./port/reports.ts";
import { addRows, byCost, emptyReportRow, sumRows } from "./report-rows.ts";
import { lastInstant } from "./request-rows.ts";
import { readStatistics } from "./statistics.ts";
import type { Tables } from "./tables.ts";
import { bucketOf } from "./time-buckets.ts";

/** Costs are summed in two halves: 64 bits hold only 9.2 million USD in pico-USD, and SQLite's `sum()` fails beyond. */
const half = 1_000_000_000n;
const halfSql = sql.raw(half.toString());

/** SQL for the billing mode of a request. */
export const billing = sql<string>`${sql.raw(EFFECTIVE_BILLING_SQL)}`;

/** The sums of a group, cost source and billing mode, as SQL returns them. */
export interface SumRow {
  key: string | null;
  second?: string | null;
  cost_source: string;
  billing: string;
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

/** The sums of a `SumRow`. */
export function sums(eb: ExpressionBuilder<Tables, "requests">) {
  const sum = (column: RawBuilder<unknown>) => sql<number | bigint | null>`sum(${column})`;
  const count = (condition: RawBuilder<unknown>) => sql<number>`count(*) FILTER (WHERE ${condition})`;
  return [
    eb.fn.countAll<number>().as("requests"),
    count(sql`error_class IS NOT NULL`).as("errors"),
    count(sql.raw(UNPRICED_SQL)).as("unpriced"),
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

/** Converts the sums of a group, cost source and billing mode to a row. */
export function toReportRow(part: SumRow): ReportRow {
  const row = emptyReportRow(part.key);
  const costPicoUsd = (big(part.cost_high) ?? 0n) * half + (big(part.cost_low) ?? 0n);
  // An unknown value (a damaged cell) counts as an estimate.
  const source = part.cost_source in row.bySource ? (part.cost_source as CostSource) : "estimated";
  const mode = part.billing in row.byBilling ? (part.billing as BillingMode) : "unknown";
  const share: SourceShare = { requests: part.requests, costPicoUsd };
  return {
    ...row,
    requests: part.requests,
    errors: part.errors,
    unpriced: part.unpriced,
    incomplete: part.incomplete,
    tokens: {
      prompt: big(part.prompt),
      cacheRead: big(part.cache_read),
      cacheWrite: big(part.cache_write),
      cacheWrite1h: big(part.cache_write_1h),
      completion: big(part.completion),
      thinking: big(part.thinking),
    },
    costPicoUsd,
    split: addToSplit(row.split, mode, costPicoUsd),
    bySource: { ...row.bySource, [source]: share },
    byBilling: { ...row.byBilling, [mode]: share },
  };
}

/** Adds up the cost sources and billing modes of each group. */
function foldSums(parts: readonly SumRow[]): ReportRow[] {
  const rows = new Map<string, ReportRow>();
  for (const part of parts) {
    const group = JSON.stringify([part.key, part.second ?? null]);
    const { second } = part;
    const row = rows.get(group) ?? { ...emptyReportRow(part.key), ...(second !== null && { second }) };
    rows.set(group, addRows(row, toReportRow(part)));
  }
  return [...rows.values()];
}

type GroupColumn = ReportColumn | null;

const isTimeUnit = (grouping: ReportGrouping | undefined): grouping is TimeUnit =>
  (TIME_UNITS as readonly (string | undefined)[]).includes(grouping);

/** Returns the grouping if it is a column. */
const columnOf = (grouping: ReportGrouping | undefined): GroupColumn =>
  grouping === undefined || grouping === "total" || isTimeUnit(grouping) ? null : grouping;

/** Implements `ReportStore`. */
export function createReportStore({ reader }: Pick<StoreConnections, "reader">): ReportStore {
  return {
    async read(query) {
      const { by, and } = query;
      if (isTimeUnit(by)) return await readByTime(reader, query, by, columnOf(and));
      if (isTimeUnit(and)) return sortByFirstKey(await readByTime(reader, query, and, columnOf(by)));
      const rows = foldSums(await readSums(reader, query, columnOf(by), columnOf(and))).sort(byCost);
      return and === undefined ? rows : sortByFirstKey(rows);
    },
    readStreamsWithoutUsage: (query) => readStreamsWithoutUsage(reader, query),
    readUnpricedModels: (query, limit) => readUnpricedModels(reader, query, limit),
    readStatistics: (query, turn) => readStatistics(reader, query, turn),
  };
}

/** Returns the condition of the query's period and filters. */
function matches({ from, to, project, model, provider }: Omit<ReportQuery, "by">) {
  return (eb: ExpressionBuilder<Tables, "requests">) =>
    eb.and([
      ...(from === null ? [] : [eb("requests.requested_at", ">=", from)]),
      ...(to === null ? [] : [eb("requests.requested_at", "<", to)]),
      ...(project === undefined ? [] : [eb("requests.project", "=", project)]),
      ...(model === undefined ? [] : [eb("requests.model", "=", model)]),
      ...(provider === undefined ? [] : [eb("requests.provider", "=", provider)]),
    ]);
}

function keyOf(column: GroupColumn): RawBuilder<unknown> {
  if (column === null) return sql`NULL`;
  return column === "billing" ? billing : sql.ref(column);
}

/** Reads the sums by group, cost source and billing mode. Without a column there is one group, whose key is null. */
async function readSums(
  reader: Kysely<Tables>,
  query: ReportQuery,
  column: GroupColumn,
  second: GroupColumn = null,
): Promise<SumRow[]> {
  const rows = await reader
    .selectFrom("requests")
    .select(packed(column).as("packed"))
    .$if(second !== null, (some) => some.select(sql<string | null>`${keyOf(second)}`.as("second")))
    .select(sums)
    .where(matches(query))
    .groupBy(second === null ? sql`1` : sql`1, 2`)
    .execute();
  return rows.map(({ packed: text, second: other = null, ...sums }) => {
    const [source = "", mode = "", ...rest] = text.split(SEPARATOR);
    const key = rest.join(SEPARATOR);
    return {
      ...sums,
      cost_source: source,
      billing: mode,
      key: key === "" ? null : key.slice(1),
      second: other,
    };
  });
}

const SEPARATOR = "\u0001";

/**
 * SQL for cost source, billing mode and key in one text, the key behind `=` unless it is null. SQLite groups by one text in half
 * the time that it needs for three columns (300,000 rows).
 */
function packed(column: GroupColumn): RawBuilder<string> {
  return sql<string>`cost_source || ${SEPARATOR} || ${billing} || ${SEPARATOR} || coalesce('=' || ${keyOf(column)}, '')`;
}

/** The condition is that of `isStreamWithoutUsage()`. */
async function readStreamsWithoutUsage(
  reader: Kysely<Tables>,
  query: Omit<ReportQuery, "by">,
): Promise<StreamsWithoutUsage[]> {
  const rows = await reader
    .selectFrom("requests")
    .select((eb) => ["client" as const, eb.fn.countAll<number>().as("requests")])
    .where(matches(query))
    .where("api", "in", APIS_WITH_OPTIONAL_USAGE)
    .where("streaming", "=", 1)
    .where("tokens_complete", "=", 0)
    .where("error_class", "is", null)
    .where("prompt_tokens", "is", null)
    .where("completion_tokens", "is", null)
    .groupBy("client")
    .orderBy("requests", "desc")
    .orderBy("client")
    .execute();
  return rows.map(({ client, requests }) => ({ client, requests }));
}

/** Versions 7 of a UUID sort by time, so that the greatest is the latest. */
async function readUnpricedModels(
  reader: Kysely<Tables>,
  query: Omit<ReportQuery, "by">,
  limit: number,
): Promise<UnpricedModel[]> {
  const rows = await reader
    .selectFrom("requests")
    .select((eb) => [
      ...(["provider", "model"] as const),
      eb.fn.countAll<number>().as("requests"),
      eb.fn.max("request_id").as("last_request_id"),
    ])
    .where(matches(query))
    .where("cost_pico_usd", "is", null)
    .where("prompt_tokens", "is not", null)
    .groupBy(["provider", "model"])
    .orderBy("requests", "desc")
    .orderBy("provider")
    .orderBy("model")
    .limit(limit)
    .execute();
  return rows.map(({ last_request_id, ...row }) => ({ ...row, lastRequestId: last_request_id }));
}

/**
 * Reads the sums by time. The bounds of days follow the runtime's time zone, which SQLite may not know. Only buckets with
 * requests are visited, with one index search each, so a row from the year 9999 costs no more.
 */
async function readByTime(
  reader: Kysely<Tables>,
  query: ReportQuery,
  unit: TimeUnit,
  column: GroupColumn,
): Promise<ReportRow[]> {
  const rows: ReportRow[] = [];
  const end = Math.min(query.to ?? Number.POSITIVE_INFINITY, lastInstant + 1);
  let from: Millis = Math.max(query.from ?? 0, 0);
  for (;;) {
    const first = await reader
      .selectFrom("requests")
      .select((eb) => eb.fn.min<number | null>("requested_at").as("at"))
      .where(matches({ ...query, from, to: end }))
      .executeTakeFirst();
    if (first === undefined || first.at === null) return rows;
    const bucket = bucketOf(first.at, unit, query.days ?? "local");
    const parts = await readSums(reader, { ...query, from: first.at, to: Math.min(bucket.to, end) }, column);
    const isFirst = query.by === unit;
    for (const row of foldSums(parts).sort(byCost)) {
      const other = query.and === undefined ? {} : { second: isFirst ? row.key : bucket.key };
      rows.push({ ...row, key: isFirst ? bucket.key : row.key, ...other });
    }
    from = bucket.to;
  }
}

/** Sorts by the whole cost of the first key, and keeps the order of rows with the same first key. */
function sortByFirstKey(rows: readonly ReportRow[]): ReportRow[] {
  return [...Map.groupBy(rows, ({ key }) => key)]
    .map(([key, own]) => ({ own, sum: sumRows(own, key) }))
    .sort((one, other) => byCost(one.sum, other.sum))
    .flatMap(({ own }) => own);
}
