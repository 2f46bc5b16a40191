import type { SqliteConnection } from "../../core/ports/sqlite.ts";
import type { ListScope } from "./list-scope.ts";
import type { RequestListQuery, RequestPage, SortedPosition } from "./port/records.ts";
import type { Turn } from "./port/values.ts";
import { listPeaks, type PeakBlock, SORT_KEYS, type SortKey } from "./request-peaks.ts";
import { findRanges, type RangeSizes, type SeqRange } from "./request-ranges.ts";
import { type RequestRow, toStoredRequest } from "./request-rows.ts";
import { readLastSeq, readThroughSeq } from "./rollups.ts";

/** A row of a slice, before the whole request is read. */
interface KeyRow {
  readonly seq: number | bigint;
  readonly key: number | bigint;
}

/**
 * Lists requests by falling key, then by falling `seq`. Decision: there is no index, because every metered call would have to update it.
 * Only the first `limit + 1` rows of all slices so far are kept, and the next slice reads only rows that come before the last of these.
 * The blocks with the highest peaks are read first, until no other block can have a row before the last one.
 */
export async function listSorted(
  connection: SqliteConnection,
  query: RequestListQuery & { readonly sort: SortKey },
  scope: ListScope,
  sizes: RangeSizes,
  turn: Turn,
  signal?: AbortSignal,
): Promise<RequestPage> {
  const { limit, sort, after = null } = query;
  let found: SortedPosition[] = [];
  /** The last row of the page after this one: nothing behind it is shown. */
  const readLeast = () => (found.length > limit ? (found.at(-1) ?? null) : null);
  const readSlice = ({ from, to }: SeqRange) => {
    const least = readLeast();
    const bounds = [
      ...(after === null ? [] : [{ sql: " AND (key, seq) < (?, ?)", position: after }]),
      ...(least === null ? [] : [{ sql: " AND (key, seq) > (?, ?)", position: least }]),
    ];
    const rows = connection
      .prepare<KeyRow>(
        `SELECT seq, key FROM (SELECT seq, ${SORT_KEYS[sort]} AS key FROM requests WHERE ${scope.sql})
         WHERE true${bounds.map(({ sql }) => sql).join("")} ORDER BY key DESC, seq DESC LIMIT ?`,
      )
      .all([
        ...[from, to, ...scope.values],
        ...bounds.flatMap(({ position }) => [position.key, position.seq]),
        limit + 1,
      ]);
    if (rows.length === 0) return;
    const more = rows.map(({ seq, key }) => ({ seq: Number(seq), key: BigInt(key) }));
    found = [...found, ...more].sort(byKey).slice(0, limit + 1);
  };
  const pause = async () => {
    await turn();
    signal?.throwIfAborted();
  };
  const { ranges, peaks } = await findSlices(connection, query, scope, sizes, turn);
  for (const range of ranges) {
    readSlice(range);
    await pause();
  }
  for (const [at, block] of peaks.entries()) {
    const least = readLeast();
    if (least !== null && block.peak < least.key) break;
    readSlice(block);
    if ((at + 1) % SLICE_BLOCKS === 0) await pause();
  }
  const shown = found.slice(0, limit);
  const rows = readRows(
    connection,
    shown.map(({ seq }) => seq),
  );
  return {
    requests: shown.flatMap(({ seq }) => {
      const row = rows.get(seq);
      return row === undefined ? [] : [toStoredRequest(row)];
    }),
    nextBeforeSeq: null,
    nextAfter: found.length > limit ? (shown.at(-1) ?? null) : null,
  };
}

/** How many blocks one slice reads. */
const SLICE_BLOCKS = 16;

/**
 * Returns what has the requests of a list: ranges that must be read, and blocks of which the highest peaks decide. Without rollups
 * there are no peaks.
 */
async function findSlices(
  connection: SqliteConnection,
  query: RequestListQuery & { readonly sort: SortKey },
  { isIndexed, isFiltered, summed }: ListScope,
  sizes: RangeSizes,
  turn: Turn,
): Promise<{ readonly ranges: readonly SeqRange[]; readonly peaks: readonly PeakBlock[] }> {
  const before = readLastSeq(connection) + 1;
  if (isIndexed) return { ranges: [{ from: 0, to: before }], peaks: [] };
  const throughSeq = readThroughSeq(connection) ?? 0;
  const peaks = listPeaks(connection, query.sort, query, throughSeq);
  if (!isFiltered) return { ranges: cutRange({ from: throughSeq + 1, to: before }, sizes.sliceRows), peaks };
  const ranges = await findRanges(connection, query, summed, before, sizes, turn);
  const isIn = (block: SeqRange) => ranges.some(({ from, to }) => block.from < to && from < block.to);
  return {
    ranges: ranges.flatMap(({ from, to }) => {
      return to > throughSeq + 1 ? [{ from: Math.max(from, throughSeq + 1), to }] : [];
    }),
    peaks: peaks.filter(isIn),
  };
}

/** Cuts a range into ranges of a number of rows, the newest first. */
function cutRange({ from, to }: SeqRange, rows: number): SeqRange[] {
  const ranges: SeqRange[] = [];
  for (let end = to; end > from; end -= rows) ranges.push({ from: Math.max(from, end - rows), to: end });
  return ranges;
}

const byKey = (one: SortedPosition, other: SortedPosition): number =>
  one.key === other.key ? other.seq - one.seq : one.key < other.key ? 1 : -1;

function readRows(connection: SqliteConnection, seqs: readonly number[]): ReadonlyMap<number, RequestRow> {
  const rows = connection
    .prepare<RequestRow>("SELECT * FROM requests WHERE seq IN (SELECT value FROM json_each(?))")
    .all([JSON.stringify(seqs)]);
  return new Map(rows.map((row) => [row.seq, row]));
}
