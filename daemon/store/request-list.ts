import type { SqliteConnection } from "../../core/ports/sqlite.ts";
import { type ListScope, scopeOf } from "./list-scope.ts";
import type { RequestListQuery, RequestPage } from "./port/records.ts";
import type { Turn } from "./port/values.ts";
import { findRanges, type RangeSizes, type SeqRange } from "./request-ranges.ts";
import { type RequestRow, toStoredRequest } from "./request-rows.ts";
import { readLastSeq } from "./rollups.ts";
import { listSorted } from "./sorted-list.ts";

/** One slice of a list reads this number of rows, or one block more. */
const LIST_SIZES: RangeSizes = { sliceRows: 10_000, blockRows: 1_000 };

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
