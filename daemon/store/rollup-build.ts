import type { SqliteConnection } from "../../core/ports/sqlite.ts";
import { HOUR_MS, type Millis } from "../../core/values/time.ts";
import type { StoreConnections } from "./connections.ts";
import { type Day, dayOf } from "./days.ts";
import type { RollupStore } from "./port/rollups.ts";
import { ROLLUP_DEFINITION, SLOT_MS } from "./rollup-definition.ts";
import {
  addRows,
  deleteUnusedSeries,
  discardRollups,
  MAX_ADDED_ROWS,
  type RollupTail,
  readLastSeq,
  readThroughSeq,
} from "./rollups.ts";
import { forgetSpans, readDays, readHours, type SummedDays, sumDay, sumHour } from "./summed-spans.ts";
import type { Span } from "./usage-sums.ts";

/** How many slots of rollups of another version one transaction deletes at most. */
const DELETED_SLOTS = 96;

/** How long after its end a day is summed up. Calls that began in it end later, and each would undo the sums. */
const DAY_SETTLED_MS = 3_600_000;

/** How long after its end an hour is summed up. */
const HOUR_SETTLED_MS = 1_800_000;

/** How many rows the hours have that one transaction sums up: 3 ms. */
const HOUR_ROWS = 200;

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
  const next = findUnsummed(connection, now);
  if (next === null) return false;
  if (next.kind === "hour") sumHours(connection, next.hours);
  else {
    sumDay(connection, next.day);
    summedDays.until = Math.max(summedDays.until ?? 0, next.day.to);
  }
  return true;
}

/** Deletes the rollups of another version in several steps, then begins with empty ones. */
function beginRollups(connection: SqliteConnection): true {
  discardRollups(connection);
  const first = readFirstSlot(connection, 0);
  if (first !== null) {
    const end = first + DELETED_SLOTS * SLOT_MS;
    forgetSpans(connection, { first, last: end - 1 });
    connection.prepare("DELETE FROM usage_slots WHERE slot < ?").run([end]);
    return true;
  }
  deleteUnusedSeries(connection);
  connection
    .prepare("INSERT INTO usage_state (definition, through_seq) VALUES (?, 0)")
    .run([ROLLUP_DEFINITION]);
  return true;
}

function readFirstSlot(connection: SqliteConnection, from: Millis): Millis | null {
  const row = connection
    .prepare<{ slot: number | null }>("SELECT min(slot) AS slot FROM usage_slots WHERE slot >= ?")
    .get([from]);
  return row?.slot ?? null;
}

/** What is summed up next: an hour, or a day whose hours are all stored. */
type NextSpan =
  | { readonly kind: "hour"; readonly hours: readonly Span[] }
  | { readonly kind: "day"; readonly day: Day };

/** Finds the first local hours or the day that have ended and whose sums are missing, or are those of another time zone. */
function findUnsummed(connection: SqliteConnection, now: Millis): NextSpan | null {
  const summed = new Map(readDays(connection).map(({ day_from, day_to }) => [day_from, day_to]));
  for (let slot = readFirstSlot(connection, 0); slot !== null; ) {
    const day = dayOf(slot, "local");
    // A day of a zone whose offset is no multiple of a slot (before 1972) is read from its slots.
    const isWhole = day.from % SLOT_MS === 0 && day.to % SLOT_MS === 0;
    if (isWhole && summed.get(day.from) !== day.to) {
      const hours = listMissingHours(connection, day, now);
      if (hours.length > 0) return { kind: "hour", hours };
      return day.to + DAY_SETTLED_MS > now ? null : { kind: "day", day };
    }
    slot = readFirstSlot(connection, day.to);
  }
  return null;
}

/** Lists the hours of a day that have ended and whose sums are missing. */
function listMissingHours(connection: SqliteConnection, day: Day, now: Millis): Span[] {
  const summed = new Map(readHours(connection, day).map(({ from, to }) => [from, to]));
  const missing: Span[] = [];
  for (let { from } = day; from < day.to; from += HOUR_MS) {
    const to = Math.min(from + HOUR_MS, day.to);
    if (to + HOUR_SETTLED_MS <= now && summed.get(from) !== to) missing.push({ from, to });
  }
  return missing;
}

/** Sums up the first of the hours, until they have enough rows for one step. */
function sumHours(connection: SqliteConnection, hours: readonly Span[]): void {
  let rows = 0;
  for (const hour of hours) {
    rows += sumHour(connection, hour);
    if (rows >= HOUR_ROWS) return;
  }
}
