import type { SqliteConnection } from "../../core/ports/sqlite.ts";
import type { Millis } from "../../core/values/time.ts";
import type { StoreConnections } from "./connections.ts";
import { type Day, dayOf } from "./days.ts";
import type { RollupStore } from "./port/rollups.ts";
import { DAY_TOTAL_COLUMNS, ROLLUP_DEFINITION, SLOT_MS, sumColumns } from "./rollup-definition.ts";
import {
  addRows,
  deleteDay,
  deleteUnusedSeries,
  discardRollups,
  MAX_ADDED_ROWS,
  type RollupTail,
  readLastSeq,
  readThroughSeq,
  type SummedDays,
} from "./rollups.ts";

/** How many slots of rollups of another version one transaction deletes at most. */
const DELETED_SLOTS = 96;

/** How long after its end a day is summed up. Calls that began in it end later, and each would undo the sums. */
const DAY_SETTLED_MS = 3_600_000;

/** Implements `RollupStore`. */
export function createRollupStore(
  { capture }: Pick<StoreConnections, "capture">,
  tail: RollupTail,
  summedDays: SummedDays,
): RollupStore {
  return { buildSome: (now) => capture.transaction(() => buildSome(capture, tail, summedDays, now)) };
}

function buildSome(
  connection: SqliteConnection,
  { max, keep }: RollupTail,
  summedDays: SummedDays,
  now: Millis,
): boolean {
  const throughSeq = readThroughSeq(connection);
  if (throughSeq === null) return beginRollups(connection);
  const lastSeq = readLastSeq(connection);
  if (lastSeq - throughSeq > max) {
    addRows(connection, throughSeq, Math.min(throughSeq + MAX_ADDED_ROWS, lastSeq - keep));
    return true;
  }
  const day = findUnsummedDay(connection, now);
  if (day === null) return false;
  sumDay(connection, day);
  summedDays.until = Math.max(summedDays.until ?? 0, day.to);
  return true;
}

/** Deletes the rollups of another version in several steps, then begins with empty ones. */
function beginRollups(connection: SqliteConnection): true {
  discardRollups(connection);
  for (const { day_from } of readDays(connection)) deleteDay(connection, day_from);
  const first = readFirstSlot(connection, 0);
  if (first !== null) {
    connection.prepare("DELETE FROM usage_slots WHERE slot < ?").run([first + DELETED_SLOTS * SLOT_MS]);
    return true;
  }
  deleteUnusedSeries(connection);
  connection
    .prepare("INSERT INTO usage_state (definition, through_seq) VALUES (?, 0)")
    .run([ROLLUP_DEFINITION]);
  return true;
}

/** A row of `usage_days`: a whole day whose sums are stored. Days do not overlap. */
export interface SummedDay {
  readonly day_from: Millis;
  readonly day_to: Millis;
}

/** Reads the days whose sums are stored, in order. */
export function readDays(connection: SqliteConnection): SummedDay[] {
  return connection.prepare<SummedDay>("SELECT day_from, day_to FROM usage_days ORDER BY day_from").all([]);
}

function readFirstSlot(connection: SqliteConnection, from: Millis): Millis | null {
  const row = connection
    .prepare<{ slot: number | null }>("SELECT min(slot) AS slot FROM usage_slots WHERE slot >= ?")
    .get([from]);
  return row?.slot ?? null;
}

/** Finds the first local day that has ended and whose sums are missing, or are those of a day of another time zone. */
function findUnsummedDay(connection: SqliteConnection, now: Millis): Day | null {
  const summed = new Map(readDays(connection).map(({ day_from, day_to }) => [day_from, day_to]));
  for (let slot = readFirstSlot(connection, 0); slot !== null; ) {
    const day = dayOf(slot, "local");
    if (day.to + DAY_SETTLED_MS > now) return null;
    // A day of a zone whose offset is no multiple of a slot (before 1972) is read from its slots.
    const isWhole = day.from % SLOT_MS === 0 && day.to % SLOT_MS === 0;
    if (isWhole && summed.get(day.from) !== day.to) return day;
    slot = readFirstSlot(connection, day.to);
  }
  return null;
}

const sums = sumColumns.map((column) => `sum(${column})`).join(", ");

/** Stores the sums of a day, in place of those of days of another time zone. */
function sumDay(connection: SqliteConnection, { from, to }: Day): void {
  for (const day of readDays(connection))
    if (day.day_from < to && day.day_to > from) deleteDay(connection, day.day_from);
  connection.prepare("INSERT INTO usage_days (day_from, day_to) VALUES (?, ?)").run([from, to]);
  connection
    .prepare(
      `INSERT INTO usage_day_series (series_id, day_from, ${sumColumns.join(", ")})
       SELECT series_id, ?, ${sums} FROM usage_slots WHERE slot >= ? AND slot < ? GROUP BY series_id`,
    )
    .run([from, from, to]);
  connection
    .prepare(
      `INSERT INTO coverage_days (day_from, host, kind, count, last_slot)
       SELECT ?, host, kind, sum(count), max(slot) FROM coverage WHERE slot >= ? AND slot < ? GROUP BY host, kind`,
    )
    .run([from, from, to]);
  const columns = Object.keys(DAY_TOTAL_COLUMNS).join(", ");
  connection
    .prepare(
      `INSERT INTO usage_day_totals (day_from, ${columns}, ${sumColumns.join(", ")})
       SELECT ?, ${Object.values(DAY_TOTAL_COLUMNS).join(", ")}, ${sums}
       FROM usage_slots JOIN usage_series USING (series_id) WHERE slot >= ? AND slot < ?
       GROUP BY ${Object.values(DAY_TOTAL_COLUMNS).join(", ")}`,
    )
    .run([from, from, to]);
}
