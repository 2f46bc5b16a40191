import type { SqliteConnection, SqliteValue } from "../../core/ports/sqlite.ts";
import type { RequestListQuery, RequestPage } from "./port/records.ts";
import type { Turn } from "./port/values.ts";
import { findRanges, type RangeSizes, type SeqRange } from "./request-ranges.ts";
import { type RequestRow, toStoredRequest } from "./request-rows.ts";
import { REQUEST_COLUMNS } from "./rollup-definition.ts";
import { readLastSeq } from "./rollups.ts";
import { listSorted } from "./sorted-list.ts";
import { toCondition } from "./usage-dimensions.ts";
import { type ColumnCondition, matches, ofRequests, type Selection } from "./usage-sums.ts";

/** One slice of a list reads this number of rows, or one block more. */
const LIST_SIZES: RangeSizes = { sliceRows: 10_000, blockRows: 1_000 };

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

/**
 * Lists requests by falling `seq`, in slices with `turn` in between. The rollups tell where older matches are, so rare ones are
 * found without reading every request.
 */
export async function listRequests(
  connection: SqliteConnection,
  query: RequestListQuery,
  turn: Turn,
  signal?: AbortSignal,
  sizes: RangeSizes = LIST_SIZES,
): Promise<RequestPage> {
  const scope = scopeOf(query);
  if (query.sort !== undefined && query.sort !== "time")
    return await listSorted(connection, { ...query, sort: query.sort }, scope, sizes, turn, signal);
  const { limit, beforeSeq } = query;
  const before = Math.min(beforeSeq ?? Number.MAX_SAFE_INTEGER, readLastSeq(connection) + 1);
  const newest: SeqRange = { from: scope.isIndexed ? 0 : before - sizes.sliceRows, to: before };
  const rows: RequestRow[] = [];
  const read = async (range: SeqRange) => {
    // One row more than requested shows whether there is another page.
    rows.push(...readRange(connection, scope, range, limit + 1 - rows.length));
    await turn();
    signal?.throwIfAborted();
  };
  await read(newest);
  if (rows.length <= limit && newest.from > readFirstSeq(connection)) {
    const ranges = await findRanges(connection, query, scope.summed, newest.from, sizes, turn);
    for (const range of ranges) {
      await read(range);
      if (rows.length > limit) break;
    }
  }
  const requests = rows.slice(0, limit).map(toStoredRequest);
  const next = rows.length > limit ? (requests.at(-1)?.seq ?? null) : null;
  return { requests, nextBeforeSeq: next, nextAfter: null };
}

function readFirstSeq(connection: SqliteConnection): number {
  return connection.prepare<{ seq: number | null }>("SELECT min(seq) AS seq FROM requests").get([])?.seq ?? 0;
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

function scopeOf(query: RequestListQuery): ListScope {
  const selection = selectionOf(query);
  const { where } = selection;
  const { sql, values } = matches(selection, ofRequests);
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

function readRange(
  connection: SqliteConnection,
  { sql, values }: ListScope,
  { from, to }: SeqRange,
  limit: number,
): RequestRow[] {
  return connection
    .prepare<RequestRow>(`SELECT * FROM requests WHERE ${sql} ORDER BY seq DESC LIMIT ?`)
    .all([from, to, ...values, limit]);
}
