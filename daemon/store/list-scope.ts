import type { SqliteValue } from "../../core/ports/sqlite.ts";
import type { RequestListQuery } from "./port/records.ts";
import { REQUEST_COLUMNS } from "./rollup-definition.ts";
import { toCondition } from "./usage-dimensions.ts";
import { type ColumnCondition, columnOfRequests, matches, type Selection } from "./usage-sums.ts";

/** The columns that a text is searched in. */
const SEARCHED = ["project", "git_branch", "model", "provider", "client", "error_class"] as const;

/** Which requests a list contains, as SQL over `requests`, and what the rollups know about them. */
export interface ListScope {
  readonly sql: string;
  readonly values: readonly SqliteValue[];
  /** The part of the selection that rollups can look up. */
  readonly summed: Selection;
  /** Whether an index finds the requests, so that no range needs to be skipped. */
  readonly isIndexed: boolean;
  /** Whether it has other conditions than the period. */
  readonly isFiltered: boolean;
}

/** Returns the filters of the query, except the period. */
function selectionOf(query: RequestListQuery): Selection & { readonly where: readonly ColumnCondition[] } {
  const { project, model, provider, client, billing, status, filters = [], text = null } = query;
  const http_status = typeof status === "number" ? status : undefined;
  return {
    filters: { project, model, provider, client, billing_mode: billing, http_status },
    ...(typeof status === "string" && { only: status }),
    where: [...filters.map(toCondition), ...(text === null ? [] : [toSearch(text)])],
  };
}

/** Returns the condition that a name contains the text. ASCII letters match in upper and lower case. */
const toSearch = (text: string): ColumnCondition => ({
  columns: SEARCHED,
  sql: (column) =>
    `instr(lower(${SEARCHED.map((name) => `coalesce(${column(name)}, '')`).join(" || char(10) || ")}), lower(?)) > 0`,
  values: [text],
  isIndexed: false,
});

/** Returns the scope of a list. */
export function scopeOf(query: RequestListQuery): ListScope {
  const selection = selectionOf(query);
  const { where } = selection;
  const { sql, values } = matches(selection, columnOfRequests);
  const isIndexed = where.some((each) => each.isIndexed);
  // `+` keeps SQLite from using the index by time, instead of `seq` or the index of a filter.
  const period = [
    ...(query.from === null ? [] : [" AND +requested_at >= ?"]),
    ...(query.to === null ? [] : [" AND +requested_at < ?"]),
  ].join("");
  const seq = isIndexed ? "+seq" : "seq";
  return {
    sql: `${seq} >= ? AND ${seq} < ?${sql}${period}`,
    values: [...values, ...[query.from, query.to].filter((bound) => bound !== null)],
    summed: {
      ...selection,
      where: where.filter(({ columns }) => columns.every((column) => !(column in REQUEST_COLUMNS))),
    },
    isIndexed,
    isFiltered: sql !== "",
  };
}
