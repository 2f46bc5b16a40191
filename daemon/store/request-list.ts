import type { SqliteConnection } from "../../core/ports/sqlite.ts";
import type { RequestListQuery, RequestPage } from "./port/records.ts";
import type { Turn } from "./port/values.ts";
import { findRanges, type RangeSizes, type SeqRange } from "./request-ranges.ts";
import { type RequestRow, toStoredRequest } from "./request-rows.ts";
import { readLastSeq } from "./rollups.ts";
import { matches, ofRequests, type Selection } from "./usage-sums.ts";

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
  const { limit, beforeSeq } = query;
  const before = Math.min(beforeSeq ?? Number.MAX_SAFE_INTEGER, readLastSeq(connection) + 1);
  const newest: SeqRange = { from: before - sizes.sliceRows, to: before };
  const rows: RequestRow[] = [];
  const read = async (range: SeqRange) => {
    // One row more than requested shows whether there is another page.
    rows.push(...readRange(connection, query, range, limit + 1 - rows.length));
    await turn();
    signal?.throwIfAborted();
  };
  await read(newest);
  if (rows.length <= limit && newest.from > readFirstSeq(connection)) {
    const ranges = await findRanges(connection, query, selectionOf(query), newest.from, sizes, turn);
    for (const range of ranges) {
      await read(range);
      if (rows.length > limit) break;
    }
  }
  const requests = rows.slice(0, limit).map(toStoredRequest);
  return { requests, nextBeforeSeq: rows.length > limit ? (requests.at(-1)?.seq ?? null) : null };
}

function readFirstSeq(connection: SqliteConnection): number {
  return connection.prepare<{ seq: number | null }>("SELECT min(seq) AS seq FROM requests").get([])?.seq ?? 0;
}

/** Returns the filters of the query, except the period. */
function selectionOf({ project, model, provider, client, billing, status }: RequestListQuery): Selection {
  const http_status = typeof status === "number" ? status : undefined;
  return {
    filters: { project, model, provider, client, billing_mode: billing, http_status },
    ...(typeof status === "string" && { only: status }),
  };
}

function readRange(
  connection: SqliteConnection,
  query: RequestListQuery,
  { from, to }: SeqRange,
  limit: number,
): RequestRow[] {
  const { sql, values } = matches(selectionOf(query), ofRequests);
  // `+`: by number, not by time.
  const period = [
    ...(query.from === null ? [] : ["AND +requested_at >= ?"]),
    ...(query.to === null ? [] : ["AND +requested_at < ?"]),
  ].join(" ");
  const bounds = [query.from, query.to].filter((bound) => bound !== null);
  return connection
    .prepare<RequestRow>(
      `SELECT * FROM requests WHERE seq >= ? AND seq < ?${sql} ${period} ORDER BY seq DESC LIMIT ?`,
    )
    .all([from, to, ...values, ...bounds, limit]);
}
