import type { SqliteConnection, SqliteValue } from "../../core/ports/sqlite.ts";
import type { Millis } from "../../core/values/time.ts";
import { addToPeaks } from "./request-peaks.ts";
import { ROLLUP_DEFINITION, ROLLUP_SUMS, SERIES_COLUMNS, SLOT_MS, sumColumns } from "./rollup-definition.ts";
import { changeSums } from "./summed-rows.ts";
import { forgetSpans, type SlotBounds } from "./summed-spans.ts";

/**
 * How many of the newest requests are not in the rollups. Reports read them one by one. A request changes most often right after
 * it was stored, when its caller becomes known; until it is in the rollups, such a change costs nothing extra.
 */
export interface RollupTail {
  /** With more requests than this, those before the newest `keep` are added to the rollups. */
  readonly max: number;
  readonly keep: number;
}

/** Reading 256 requests takes a report 0.2 ms. Adding 128 at once costs 3 µs for each, adding one by one 30 µs. */
export const ROLLUP_TAIL: RollupTail = { max: 256, keep: 128 };

/** How many requests one transaction adds to the rollups at most: about 4 ms. */
export const MAX_ADDED_ROWS = 1_000;

/** A condition on `requests` with its values. */
export interface RequestCondition {
  readonly sql: string;
  readonly values: readonly SqliteValue[];
}

/** The condition of these requests. */
export const requestsById = (requestIds: readonly string[]): RequestCondition => ({
  sql: "request_id IN (SELECT value FROM json_each(?))",
  values: [JSON.stringify(requestIds)],
});

const names = Object.keys(SERIES_COLUMNS).join(", ");
const sums = sumColumns.join(", ");

/**
 * A table of this connection: what requests add to the slots. It is filled once and read twice, for new series and for the sums,
 * which takes a third less time than reading the requests twice.
 */
const CREATE_ADDITIONS = `CREATE TEMP TABLE IF NOT EXISTS usage_additions
  (slot, series_key, min_seq, max_seq, ${names}, ${sums})`;

const collect = (condition: string) => `INSERT INTO temp.usage_additions
  SELECT requested_at / ${SLOT_MS} * ${SLOT_MS}, json_array(${Object.values(SERIES_COLUMNS).join(", ")}), min(seq), max(seq),
    ${Object.values(SERIES_COLUMNS).join(", ")}, ${Object.values(ROLLUP_SUMS).join(", ")}
  FROM requests WHERE ${condition} GROUP BY 1, 2`;

const INSERT_SERIES = `INSERT INTO usage_series (series_key, ${names})
  SELECT series_key, ${names} FROM temp.usage_additions WHERE true ON CONFLICT (series_key) DO NOTHING`;

const updateSlots = (
  updates: readonly string[],
) => `INSERT INTO usage_slots (slot, series_id, min_seq, max_seq, ${sums})
  SELECT slot, series_id, min_seq, max_seq, ${sums} FROM temp.usage_additions JOIN usage_series USING (series_key)
  WHERE true ON CONFLICT (slot, series_id) DO UPDATE SET ${updates.join(", ")}`;

const ADD = updateSlots([
  ...sumColumns.map((column) => `${column} = ${column} + excluded.${column}`),
  "min_seq = min(min_seq, excluded.min_seq)",
  "max_seq = max(max_seq, excluded.max_seq)",
]);

/** `min_seq` and `max_seq` stay: they are bounds, and need not be the narrowest. */
const SUBTRACT = updateSlots(sumColumns.map((column) => `${column} = ${column} - excluded.${column}`));

const COLLECT_RANGE = collect("seq > ? AND seq <= ?");
const COLLECT_CHANGED = collect("seq IN (SELECT seq FROM temp.changed_requests)");

/**
 * Returns the `seq` of the last request in the rollups: they contain exactly the requests up to it. Null if they were made by
 * another version of the program, or not at all.
 */
export function readThroughSeq(connection: SqliteConnection): number | null {
  return connection.prepare<{ seq: number }>(READ_THROUGH_SEQ).get([])?.seq ?? null;
}

/** The definition is a part of the statement: as a value, its 3 KB would be copied for each read. */
const READ_THROUGH_SEQ = `SELECT through_seq AS seq FROM usage_state
  WHERE definition = '${ROLLUP_DEFINITION.replaceAll("'", "''")}'`;

function writeThroughSeq(connection: SqliteConnection, seq: number): void {
  connection
    .prepare("UPDATE usage_state SET through_seq = ? WHERE definition = ?")
    .run([seq, ROLLUP_DEFINITION]);
}

/** Returns the greatest `seq`, or 0 without requests. */
export function readLastSeq(connection: SqliteConnection): number {
  return connection.prepare<{ seq: number | null }>("SELECT max(seq) AS seq FROM requests").get([])?.seq ?? 0;
}

/**
 * Adds the next requests to the rollups, except the newest `keep`, if there are more than `max`. Does nothing while many are
 * missing, which the background build adds. Returns how many requests are not in the rollups afterwards. The caller has begun a
 * transaction.
 */
export function addToRollups(connection: SqliteConnection, { max, keep }: RollupTail): number {
  const throughSeq = readThroughSeq(connection);
  if (throughSeq === null) return 0;
  const lastSeq = readLastSeq(connection);
  const missing = lastSeq - throughSeq;
  if (missing <= max || missing > max + MAX_ADDED_ROWS) return missing;
  addRows(connection, throughSeq, lastSeq - keep);
  return keep;
}

/** Adds the requests after `afterSeq` up to `throughSeq` to the rollups. The caller has begun a transaction. */
export function addRows(connection: SqliteConnection, afterSeq: number, throughSeq: number): void {
  const added = collectAdditions(connection, COLLECT_RANGE, [afterSeq, throughSeq]);
  if (added !== null) add(connection, added);
  addToPeaks(connection, "seq > ? AND seq <= ?", [afterSeq, throughSeq]);
  writeThroughSeq(connection, throughSeq);
}

/**
 * Changes or deletes the requests for which the condition holds, and moves what they add to the rollups with them. The caller has
 * begun a transaction.
 */
export function changeRequests<Result>(
  connection: SqliteConnection,
  condition: RequestCondition,
  change: () => Result,
): Result {
  const throughSeq = readThroughSeq(connection);
  if (throughSeq === null) discardOthers(connection);
  if (throughSeq === null || throughSeq === 0 || !selectChanged(connection, condition, throughSeq))
    return change();
  const before = collectAdditions(connection, COLLECT_CHANGED, []);
  connection.prepare(SUBTRACT).run([]);
  const result = change();
  const after = collectAdditions(connection, COLLECT_CHANGED, []);
  if (after !== null) add(connection, after);
  addToPeaks(connection, "seq IN (SELECT seq FROM temp.changed_requests)", []);
  connection.prepare("DELETE FROM temp.changed_requests").run([]);
  if (before !== null) {
    forgetSpans(connection, before);
    connection
      .prepare("DELETE FROM usage_slots WHERE slot >= ? AND slot <= ? AND requests = 0")
      .run([before.first, before.last]);
  }
  return result;
}

/** Collects what requests add to the slots. Returns their bounds, or null if there are no requests. */
function collectAdditions(
  connection: SqliteConnection,
  sql: string,
  values: readonly SqliteValue[],
): SlotBounds | null {
  connection.prepare(CREATE_ADDITIONS).run([]);
  connection.prepare("DELETE FROM temp.usage_additions").run([]);
  connection.prepare(sql).run(values);
  const row = connection
    .prepare<{ first: Millis | null; last: Millis | null }>(
      "SELECT min(slot) AS first, max(slot) AS last FROM temp.usage_additions",
    )
    .get([]);
  return row?.first == null || row.last === null ? null : { first: row.first, last: row.last };
}

function add(connection: SqliteConnection, slots: SlotBounds): void {
  connection.prepare(INSERT_SERIES).run([]);
  connection.prepare(ADD).run([]);
  forgetSpans(connection, slots);
}

/** Finds the requests in the rollups that a change concerns. Returns whether there are any. */
function selectChanged(
  connection: SqliteConnection,
  { sql, values }: RequestCondition,
  throughSeq: number,
): boolean {
  connection
    .prepare("CREATE TEMP TABLE IF NOT EXISTS changed_requests (seq INTEGER PRIMARY KEY) STRICT")
    .run([]);
  // `+seq`: the condition chooses the index.
  const found = connection
    .prepare(`INSERT INTO temp.changed_requests SELECT seq FROM requests WHERE +seq <= ? AND (${sql})`)
    .run([throughSeq, ...values]);
  return found > 0;
}

/** Rollups of another version would miss a change of this one, so they are no longer read. */
function discardOthers(connection: SqliteConnection): void {
  connection.prepare("DELETE FROM usage_state WHERE definition <> ?").run([ROLLUP_DEFINITION]);
}

/** Lets reports read requests until the background build has made the rollups again. The caller has begun a transaction. */
export function discardRollups(connection: SqliteConnection): void {
  connection.prepare("DELETE FROM usage_state").run([]);
}

/**
 * Follows a deletion of requests: SQLite reuses the number of a deleted last row, so the end of the rollups moves back to the last
 * row. The caller has begun a transaction.
 */
export function clampThroughSeq(connection: SqliteConnection): void {
  connection
    .prepare(
      "UPDATE usage_state SET through_seq = min(through_seq, coalesce((SELECT max(seq) FROM requests), 0))",
    )
    .run([]);
}

/** The tables of rollups, without the series. */
const ROLLUP_TABLES = [
  "usage_state",
  "usage_slots",
  "usage_hours",
  "usage_hour_values",
  "usage_days",
  "usage_day_series",
  "usage_day_values",
  "usage_day_totals",
  "coverage_days",
  "request_peaks",
];

/**
 * Deletes the names of projects, models and clients that no slot refers to any more, and all rollups that are no longer read. The
 * caller has begun a transaction.
 */
export function deleteUnusedSeries(connection: SqliteConnection): void {
  if (readThroughSeq(connection) === null) {
    changeSums(connection);
    for (const table of ROLLUP_TABLES) connection.prepare(`DELETE FROM ${table}`).run([]);
  }
  connection
    .prepare("DELETE FROM usage_series WHERE series_id NOT IN (SELECT series_id FROM usage_slots)")
    .run([]);
}
