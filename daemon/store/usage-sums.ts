import type { SqliteConnection, SqliteValue } from "../../core/ports/sqlite.ts";
import type { Millis } from "../../core/values/time.ts";
import {
  COST_HALF,
  REQUEST_COLUMNS,
  type RequestColumn,
  SERIES_COLUMNS,
  type SeriesColumn,
  TOKEN_COLUMNS,
  type TokenColumn,
} from "./rollup-definition.ts";

/** A half-open period. Its bounds may be infinite. */
export interface Span {
  readonly from: Millis;
  readonly to: Millis;
}

/** A column that usage is grouped and filtered by. */
export type UsageColumn = SeriesColumn | RequestColumn;

/** What is summed, and by what. */
export interface SumQuery {
  /** The columns to group by, besides cost source and billing mode. */
  readonly columns: readonly UsageColumn[];
  /** The values that columns must have. Of `git_commit`, the beginning. */
  readonly filters: Readonly<Partial<Record<UsageColumn, string | number | null | undefined>>>;
  /** Whether only some requests are summed. Default: all. */
  readonly only?: keyof typeof CONDITIONS;
  /** Further conditions. All of them must hold. */
  readonly where?: readonly ColumnCondition[];
}

/** A condition on some columns. */
export interface ColumnCondition {
  readonly columns: readonly UsageColumn[];
  readonly sql: (column: ColumnSql) => string;
  readonly values: readonly SqliteValue[];
  /** Whether requests are found by an index of their own, and not by their time. */
  readonly isIndexed: boolean;
}

/** The sums of requests that agree in the query's columns, cost source and billing mode, as SQL returns them. */
export interface SumRow
  extends Readonly<Partial<Record<UsageColumn, string | null>>>,
    Readonly<Record<TokenColumn | "cost_high" | "cost_low", number | bigint | null>> {
  readonly cost_source: string;
  readonly billing_mode: string;
  readonly requests: number;
  readonly failed_requests: number;
  readonly blocked_requests: number;
  readonly unpriced_requests: number;
  readonly incomplete_requests: number;
  /** The day, in sums by day. */
  readonly day_from?: Millis;
}

/** SQL for a column. */
export type ColumnSql = (column: UsageColumn) => string;

const COLUMNS: Readonly<Record<UsageColumn, string>> = { ...SERIES_COLUMNS, ...REQUEST_COLUMNS };

/** The columns of series. They have none of `REQUEST_COLUMNS`. */
export const columnOfSeries: ColumnSql = (column) => column;
export const columnOfRequests: ColumnSql = (column) => `(${COLUMNS[column]})`;

/** Whether a query needs columns that only requests have, so that rollups can't answer it. */
export const needsRequests = ({
  columns,
  filters,
  where = [],
}: Pick<SumQuery, "columns" | "filters" | "where">): boolean =>
  [...columns, ...wantedColumns(filters), ...where.flatMap((each) => each.columns)].some(
    (column) => column in REQUEST_COLUMNS,
  );

/** The columns that filters are about. */
export const wantedColumns = (filters: SumQuery["filters"]) =>
  (Object.keys(filters) as UsageColumn[]).filter((column) => filters[column] !== undefined);

/** Conditions on the columns of a series. */
const CONDITIONS = {
  ok: (sql: ColumnSql) => `${sql("error_class")} IS NULL AND ${sql("blocked")} = 0`,
  blocked: (sql: ColumnSql) => `${sql("blocked")} = 1`,
  failed: (sql: ColumnSql) => `${sql("error_class")} IS NOT NULL`,
  unpriced: (sql: ColumnSql) => `${sql("unpriced")} = 1`,
  incomplete: (sql: ColumnSql) => `${sql("incomplete")} = 1`,
  streams_without_usage: (sql: ColumnSql) => `${sql("stream_without_usage")} = 1`,
  unpriced_with_tokens: (sql: ColumnSql) => `${sql("unpriced")} = 1 AND ${sql("stated")} & 1 = 1`,
} as const;

/** A condition with its values. */
interface Condition {
  readonly sql: string;
  readonly values: readonly SqliteValue[];
}

/** What is selected. */
export type Selection = Pick<SumQuery, "filters" | "only" | "where">;

/** The condition of a selection, on the columns of series or of requests. */
export function matches({ filters, only, where = [] }: Selection, sql: ColumnSql): Condition {
  const parts = wantedColumns(filters).map((column) => isValue(column, filters[column] ?? null, sql));
  if (only !== undefined) parts.push({ sql: CONDITIONS[only](sql), values: [] });
  for (const each of where) parts.push({ sql: each.sql(sql), values: each.values });
  return {
    sql: parts.map((part) => ` AND ${part.sql}`).join(""),
    values: parts.flatMap((part) => part.values),
  };
}

function isValue(column: UsageColumn, value: string | number | null, sql: ColumnSql): Condition {
  if (column !== "git_commit" || typeof value !== "string")
    return { sql: `${sql(column)} IS ?`, values: [value] };
  // "g" sorts after every hex digit. The bare column has the index.
  return { sql: "git_commit >= ? AND git_commit < ?", values: [value, `${value}g`] };
}

/** The selected and grouped columns of a query, after `more`. */
export function groupsOf({ columns }: SumQuery, sql: ColumnSql, ...more: readonly string[]) {
  const names: readonly UsageColumn[] = [
    ...new Set<UsageColumn>([...columns, "cost_source", "billing_mode"]),
  ];
  return {
    selected: [...more, ...names.map((name) => `${sql(name)} AS ${name}`)].join(", "),
    grouped: [...more, ...names.map(sql)].join(", "),
  };
}

const smallest = -(2n ** 63n);
const largest = 2n ** 63n - 1n;

/** The bounds as values for SQLite. A damaged row may lie outside of all time. */
export const bounds = ({ from, to }: Span): SqliteValue[] => [
  from === Number.NEGATIVE_INFINITY ? smallest : from,
  to === Number.POSITIVE_INFINITY ? largest : to,
];

const count = (condition: string) => `count(*) FILTER (WHERE ${condition})`;

/** The sums of `SumRow` over requests, in SQL. */
export const sumsOfRequests = [
  "count(*) AS requests",
  `${count(`${columnOfRequests("error_class")} IS NOT NULL`)} AS failed_requests`,
  `${count(columnOfRequests("blocked"))} AS blocked_requests`,
  `${count(columnOfRequests("unpriced"))} AS unpriced_requests`,
  `${count(columnOfRequests("incomplete"))} AS incomplete_requests`,
  ...TOKEN_COLUMNS.map((column) => `sum(${column}) AS ${column}`),
  `sum(cost_pico_usd / ${COST_HALF}) AS cost_high`,
  `sum(cost_pico_usd % ${COST_HALF}) AS cost_low`,
].join(", ");

/** Whether requests are found by an index of their own. */
export const isFoundByIndex = ({ filters, where = [] }: SumQuery): boolean =>
  filters.git_commit != null || where.some((each) => each.isIndexed);

/** The condition on time. `+`: the newest requests are found by their number, and those of a commit by its index. */
function rangeOf(query: SumQuery, afterSeq: number | null): string {
  const isIndexed = afterSeq !== null || isFoundByIndex(query);
  const range = isIndexed
    ? "+requested_at >= ? AND +requested_at < ?"
    : "requested_at >= ? AND requested_at < ?";
  return afterSeq === null ? range : `${range} AND seq > ?`;
}

/** Sums requests one by one: all of the period, or only those that are not in the rollups. */
export function sumRequests(
  connection: SqliteConnection,
  span: Span,
  query: SumQuery,
  afterSeq: number | null = null,
): SumRow[] {
  const { selected, grouped } = groupsOf(query, columnOfRequests);
  const { sql, values } = matches(query, columnOfRequests);
  return connection
    .prepare<SumRow>(
      `SELECT ${selected}, ${sumsOfRequests} FROM requests WHERE ${rangeOf(query, afterSeq)}${sql} GROUP BY ${grouped}`,
    )
    .all([...bounds(span), ...(afterSeq === null ? [] : [afterSeq]), ...values]);
}

/** The sums of `SumRow` over sums of series, in SQL. */
export const sumsOfSeries = [
  "sum(requests) AS requests",
  "coalesce(sum(requests) FILTER (WHERE error_class IS NOT NULL), 0) AS failed_requests",
  "coalesce(sum(requests) FILTER (WHERE blocked), 0) AS blocked_requests",
  "coalesce(sum(requests) FILTER (WHERE unpriced), 0) AS unpriced_requests",
  "coalesce(sum(requests) FILTER (WHERE incomplete), 0) AS incomplete_requests",
  ...TOKEN_COLUMNS.map((column, bit) => `sum(${column}) FILTER (WHERE stated >> ${bit} & 1) AS ${column}`),
  "sum(cost_high) AS cost_high",
  "sum(cost_low) AS cost_low",
].join(", ");

/** A request, and when it was made. */
export interface FoundRequestAt {
  readonly at: Millis;
  readonly requestId: string;
}

/** Buckets of equal length. */
export interface BucketGrid {
  readonly from: Millis;
  readonly widthMs: number;
}

/** The sums of one bucket; `bucket` counts from the beginning of the grid. */
export interface BucketRow extends SumRow {
  readonly bucket: number;
}

/** SQL for the number of a bucket. A number of JavaScript is bound as a real one, by which SQLite would not divide in integers. */
export const bucketOfTime = (time: string) => `(${time} - CAST(? AS INTEGER)) / CAST(? AS INTEGER) AS bucket`;

/** Sums requests by bucket: all of the span, or only those that are not in the rollups. */
export function sumRequestsByBucket(
  connection: SqliteConnection,
  span: Span,
  query: SumQuery,
  { from, widthMs }: BucketGrid,
  afterSeq: number | null = null,
): BucketRow[] {
  const { selected, grouped } = groupsOf(query, columnOfRequests);
  const { sql, values } = matches(query, columnOfRequests);
  return connection
    .prepare<BucketRow>(
      `SELECT ${bucketOfTime("requested_at")}, ${selected}, ${sumsOfRequests} FROM requests
       WHERE ${rangeOf(query, afterSeq)}${sql} GROUP BY bucket, ${grouped}`,
    )
    .all([from, widthMs, ...bounds(span), ...(afterSeq === null ? [] : [afterSeq]), ...values]);
}

/** Finds the latest request of the period: among all, or only among those that are not in the rollups. */
export function findLatestOfRequests(
  connection: SqliteConnection,
  span: Span,
  query: SumQuery,
  afterSeq: number | null = null,
): FoundRequestAt | null {
  const { sql, values } = matches(query, columnOfRequests);
  return connection
    .prepare<FoundRequestAt>(
      `SELECT requested_at AS at, request_id AS requestId FROM requests WHERE ${rangeOf(query, afterSeq)}${sql}
       ORDER BY requested_at DESC, request_id DESC LIMIT 1`,
    )
    .get([...bounds(span), ...(afterSeq === null ? [] : [afterSeq]), ...values]);
}

/** The tables of sums by series, each with its time. */
const TABLES = { slots: ["usage_slots", "slot"], days: ["usage_day_series", "day_from"] } as const;

/** Finds the latest slot or day of the period that has a request in the rollups. */
export function findLatestTime(
  connection: SqliteConnection,
  from: keyof typeof TABLES,
  span: Span,
  query: SumQuery,
): Millis | null {
  const [table, time] = TABLES[from];
  const { sql, values } = matches(query, columnOfSeries);
  const row = connection
    .prepare<{ at: Millis | null }>(
      `SELECT max(${time}) AS at FROM ${table}
       WHERE series_id IN (SELECT series_id FROM usage_series WHERE true${sql}) AND ${time} >= ? AND ${time} < ?`,
    )
    .get([...values, ...bounds(span)]);
  return row?.at ?? null;
}

/** Finds the whole days that have a request of the selection. */
export function findDays(connection: SqliteConnection, span: Span, selection: Selection): Span[] {
  const { sql, values } = matches(selection, columnOfSeries);
  return connection
    .prepare<{ from: Millis; to: Millis }>(
      `SELECT day_from AS "from", day_to AS "to" FROM usage_days WHERE day_from >= ? AND day_from < ? AND day_from IN (
         SELECT day_from FROM usage_day_series WHERE series_id IN (SELECT series_id FROM usage_series WHERE true${sql})
       ) ORDER BY day_from DESC`,
    )
    .all([...bounds(span), ...values]);
}

/** Finds the slots of a span that have a request of the selection, the latest first. */
export function findSlots(connection: SqliteConnection, span: Span, selection: Selection): Millis[] {
  const { sql, values } = matches(selection, columnOfSeries);
  return connection
    .prepare<{ slot: Millis }>(
      `SELECT DISTINCT slot FROM usage_slots WHERE slot >= ? AND slot < ?
         AND series_id IN (SELECT series_id FROM usage_series WHERE true${sql}) ORDER BY slot DESC`,
    )
    .all([...bounds(span), ...values])
    .map(({ slot }) => slot);
}

/** Returns between which numbers the requests of the selection lie, for each slot of the span that has any. */
export function findSeqBounds(
  connection: SqliteConnection,
  span: Span,
  selection: Selection,
): { first: number; end: number }[] {
  const { sql, values } = matches(selection, columnOfSeries);
  return connection
    .prepare<{ first: number; end: number }>(
      `SELECT min(min_seq) AS first, max(max_seq) AS "end" FROM usage_slots
       WHERE slot >= ? AND slot < ? AND series_id IN (SELECT series_id FROM usage_series WHERE true${sql})
       GROUP BY slot`,
    )
    .all([...bounds(span), ...values]);
}
