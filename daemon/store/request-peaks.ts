import type { SqliteConnection, SqliteValue } from "../../core/ports/sqlite.ts";
import type { RequestSort } from "../../core/wire/queries.ts";
import type { Period } from "./port/values.ts";

/** What requests can be sorted by besides the time. */
export type SortKey = Exclude<RequestSort, "time">;

const TOKENS = [
  "prompt_tokens",
  "cache_read_tokens",
  "cache_write_tokens",
  "completion_tokens",
  "thinking_tokens",
];

/** SQL for what requests are sorted by; -1 if it is unknown. */
export const SORT_KEYS: Readonly<Record<SortKey, string>> = {
  cost: "coalesce(cost_pico_usd, -1)",
  tokens: `CASE WHEN coalesce(${TOKENS.join(", ")}) IS NULL THEN -1
    ELSE ${TOKENS.map((column) => `coalesce(${column}, 0)`).join(" + ")} END`,
  ms: "coalesce(latency_ms, -1)",
};

/**
 * How many numbers of requests a block has. The first page of a sorted list reads up to one block for each of its rows, so small blocks
 * read less, and more blocks have to be looked at.
 */
const PEAK_BLOCK = 256;

const keys = Object.keys(SORT_KEYS) as SortKey[];

/** Identifies what the peaks are, as a part of the definition of the rollups: they are made and kept with these. */
export const PEAK_DEFINITION = [PEAK_BLOCK, SORT_KEYS] as const;

/**
 * Adds requests to the peaks of their blocks: the most of each key, and the time of the first and the last request. A peak stays if a
 * request loses what it had or is deleted: it is a bound, and need not be the narrowest.
 */
export function addToPeaks(
  connection: SqliteConnection,
  condition: string,
  values: readonly SqliteValue[],
): void {
  connection
    .prepare(
      `INSERT INTO request_peaks (block, first_at, last_at, ${keys.join(", ")})
       SELECT seq / ${PEAK_BLOCK}, min(requested_at), max(requested_at), ${keys.map((key) => `max(${SORT_KEYS[key]})`).join(", ")}
       FROM requests WHERE ${condition} GROUP BY 1
       ON CONFLICT (block) DO UPDATE SET first_at = min(first_at, excluded.first_at), last_at = max(last_at, excluded.last_at),
         ${keys.map((key) => `${key} = max(${key}, excluded.${key})`).join(", ")}`,
    )
    .run(values);
}

/** Deletes the peaks of blocks without requests. The caller has begun a transaction. */
export function deleteUnusedPeaks(connection: SqliteConnection): void {
  connection
    .prepare(
      `DELETE FROM request_peaks WHERE NOT EXISTS (SELECT 1 FROM requests
         WHERE seq >= block * ${PEAK_BLOCK} AND seq < (block + 1) * ${PEAK_BLOCK})`,
    )
    .run([]);
}

/** A block of requests as a half-open range of `requests.seq`, and the most that one of them can have of the key. */
export interface PeakBlock {
  readonly from: number;
  readonly to: number;
  readonly peak: bigint;
}

/** Lists the blocks up to a request that can have requests of a period, the highest peak first. */
export function listPeaks(
  connection: SqliteConnection,
  sort: SortKey,
  { from, to }: Period,
  throughSeq: number,
): PeakBlock[] {
  return connection
    .prepare<{ block: number; peak: number | bigint }>(
      `SELECT block, ${sort} AS peak FROM request_peaks
       WHERE block <= ? AND last_at >= ? AND first_at < ? ORDER BY ${sort} DESC, block DESC`,
    )
    .all([
      Math.floor(throughSeq / PEAK_BLOCK),
      from ?? Number.MIN_SAFE_INTEGER,
      to ?? Number.MAX_SAFE_INTEGER,
    ])
    .map(({ block, peak }) => ({
      from: block * PEAK_BLOCK,
      to: Math.min((block + 1) * PEAK_BLOCK, throughSeq + 1),
      peak: BigInt(peak),
    }));
}
