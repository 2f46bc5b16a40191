import type { SqliteValue } from "../../core/ports/sqlite.ts";
import type { UsageKey } from "../../core/pricing/view/usage-answer.ts";
import type { UsageFilter } from "../../core/pricing/view/usage-query.ts";
import type { UsageDimension } from "../../core/wire/usage.ts";
import type { ColumnCondition, ColumnSql, SumRow, UsageColumn } from "./usage-sums.ts";

/** A dimension of usage. */
interface Dimension {
  /** The columns that sums are separated by. All sums are separated by cost source and billing mode. */
  readonly columns: readonly UsageColumn[];
  readonly keyOf: (row: SumRow) => UsageKey;
  /** SQL for its value, as a text. The empty text means that it is unknown. */
  readonly sql: (column: ColumnSql) => string;
  /** The column whose index finds requests with a value. */
  readonly indexed?: UsageColumn;
}

const textOf = (value: unknown): UsageKey =>
  value === null || value === undefined || value === "" ? null : `${value}`;

/** A dimension that is a column. */
const ofColumn = (name: UsageColumn, indexed?: UsageColumn): Dimension => ({
  columns: [name],
  keyOf: (row) => textOf(row[name]),
  sql: (column) => `coalesce(CAST(${column(name)} AS TEXT), '')`,
  ...(indexed !== undefined && { indexed }),
});

/** A dimension that requests of one machine do not have. */
const unknown: Dimension = { columns: [], keyOf: () => null, sql: () => "''" };

/** How a cost is known. An unknown source (a damaged cell) counts as an estimate. */
function costKey(row: SumRow): string {
  if (Number(row.unpriced ?? 0) === 1) return "unpriced";
  if (row.cost_source === "computed" || row.cost_source === "provider") return row.cost_source;
  return row.cost_source === "unpriced" ? "none" : "estimated";
}

const DIMENSIONS: Readonly<Record<UsageDimension, Dimension>> = {
  project: ofColumn("project"),
  branch: ofColumn("git_branch"),
  model: ofColumn("model"),
  provider: ofColumn("provider"),
  client: ofColumn("client"),
  client_version: ofColumn("client_version"),
  session: ofColumn("session_id", "session_id"),
  agent: ofColumn("agent_id"),
  commit: ofColumn("git_commit", "git_commit"),
  remote: ofColumn("git_remote"),
  pull_request: ofColumn("pull_request"),
  status: {
    columns: ["error_class", "blocked"],
    keyOf: (row) => (row.error_class != null ? "failed" : Number(row.blocked ?? 0) === 1 ? "blocked" : "ok"),
    sql: (column) => `CASE WHEN ${column("error_class")} IS NOT NULL THEN 'failed'
      WHEN ${column("blocked")} THEN 'blocked' ELSE 'ok' END`,
  },
  http_status: ofColumn("http_status"),
  error: ofColumn("error_class"),
  billing: ofColumn("billing_mode"),
  cost: {
    columns: ["unpriced"],
    keyOf: costKey,
    sql: (column) => `CASE WHEN ${column("unpriced")} THEN 'unpriced'
      WHEN ${column("cost_source")} IN ('computed', 'provider') THEN ${column("cost_source")}
      WHEN ${column("cost_source")} = 'unpriced' THEN 'none' ELSE 'estimated' END`,
  },
  tokens: {
    columns: ["incomplete"],
    keyOf: (row) => (Number(row.incomplete ?? 0) === 1 ? "incomplete" : "complete"),
    sql: (column) => `CASE WHEN ${column("incomplete")} THEN 'incomplete' ELSE 'complete' END`,
  },
  source: ofColumn("record_source"),
  kind: ofColumn("request_kind"),
  machine: unknown,
  person: unknown,
};

/** Returns the columns that separate the values of some dimensions. */
export const columnsOfDimensions = (...dimensions: readonly (UsageDimension | null)[]): UsageColumn[] => [
  ...new Set(dimensions.flatMap((each) => (each === null ? [] : DIMENSIONS[each].columns))),
];

/** Returns the value of a dimension; null without one. */
export const keyOfRow = (row: SumRow, dimension: UsageDimension | null): UsageKey =>
  dimension === null ? null : DIMENSIONS[dimension].keyOf(row);

/** Converts a filter to a condition. */
export function toCondition({ dimension, not, values }: UsageFilter): ColumnCondition {
  const { columns, sql, indexed } = DIMENSIONS[dimension];
  const isIndexed = indexed !== undefined && !not && !values.includes("");
  const listed: SqliteValue[] = [...values];
  const list = listed.map(() => "?").join(", ");
  return {
    columns,
    // The bare column has the index.
    sql: (column) => `${isIndexed ? indexed : sql(column)} ${not ? "NOT IN" : "IN"} (${list})`,
    values: listed,
    isIndexed,
  };
}
