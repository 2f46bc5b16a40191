import type { SqliteConnection } from "../../core/ports/sqlite.ts";
import type { RequestSort } from "../../core/wire/queries.ts";
import type { RequestListQuery, RequestPage, SortedPosition } from "./port/records.ts";
import type { Turn } from "./port/values.ts";
import type { ListScope } from "./request-list.ts";
import { findRanges, type RangeSizes } from "./request-ranges.ts";
import { type RequestRow, toStoredRequest } from "./request-rows.ts";
import { readLastSeq } from "./rollups.ts";

const TOKENS = [
  "prompt_tokens",
  "cache_read_tokens",
  "cache_write_tokens",
  "completion_tokens",
  "thinking_tokens",
];

/** SQL for what requests are sorted by; -1 if it is unknown. */
const KEYS: Readonly<Record<Exclude<RequestSort, "time">, string>> = {
  cost: "coalesce(cost_pico_usd, -1)",
  tokens: `CASE WHEN coalesce(${TOKENS.join(", ")}) IS NULL THEN -1
    ELSE ${TOKENS.map((column) => `coalesce(${column}, 0)`).join(" + ")} END`,
  ms: "coalesce(latency_ms, -1)",
};

/** A row of a slice, before the whole request is read. */
interface KeyRow {
  readonly seq: number | bigint;
  readonly key: number | bigint;
}

/**
 * Lists requests by falling key, then by falling `seq`. Decision: there is no index, because every metered call would have to update it.
 * Only the first `limit + 1` rows of all slices so far are kept, and the next slice reads only rows that come before the last of these.
 */
export async function listSorted(
  connection: SqliteConnection,
  query: RequestListQuery & { readonly sort: keyof typeof KEYS },
  scope: ListScope,
  sizes: RangeSizes,
  turn: Turn,
  signal?: AbortSignal,
): Promise<RequestPage> {
  const { limit, sort, after = null } = query;
  const before = readLastSeq(connection) + 1;
  const ranges = scope.isIndexed
    ? [{ from: 0, to: before }]
    : await findRanges(connection, query, scope.summed, before, sizes, turn);
  let found: SortedPosition[] = [];
  for (const { from, to } of ranges) {
    const least = found.length > limit ? (found.at(-1) ?? null) : null;
    const bounds = [
      ...(after === null ? [] : [{ sql: " AND (key, seq) < (?, ?)", position: after }]),
      ...(least === null ? [] : [{ sql: " AND (key, seq) > (?, ?)", position: least }]),
    ];
    const rows = connection
      .prepare<KeyRow>(
        `SELECT seq, key FROM (SELECT seq, ${KEYS[sort]} AS key FROM requests WHERE ${scope.sql})
         WHERE true${bounds.map(({ sql }) => sql).join("")} ORDER BY key DESC, seq DESC LIMIT ?`,
      )
      .all([
        ...[from, to, ...scope.values],
        ...bounds.flatMap(({ position }) => [position.key, position.seq]),
        limit + 1,
      ]);
    const more = rows.map(({ seq, key }) => ({ seq: Number(seq), key: BigInt(key) }));
    found = [...found, ...more].sort(byKey).slice(0, limit + 1);
    await turn();
    signal?.throwIfAborted();
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

const byKey = (one: SortedPosition, other: SortedPosition): number =>
  one.key === other.key ? other.seq - one.seq : one.key < other.key ? 1 : -1;

function readRows(connection: SqliteConnection, seqs: readonly number[]): ReadonlyMap<number, RequestRow> {
  const rows = connection
    .prepare<RequestRow>("SELECT * FROM requests WHERE seq IN (SELECT value FROM json_each(?))")
    .all([JSON.stringify(seqs)]);
  return new Map(rows.map((row) => [row.seq, row]));
}
