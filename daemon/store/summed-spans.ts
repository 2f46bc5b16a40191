import type { SqliteConnection } from "../../core/ports/sqlite.ts";
import { HOUR_MS, type Millis } from "../../core/values/time.ts";
import { sumColumns, VALUE_COLUMNS } from "./rollup-definition.ts";
import { changeSums, readSummedRows } from "./summed-rows.ts";
import { bounds, type Span, sumsOfSeries } from "./usage-sums.ts";
import { VALUE_TABLES, valueSums } from "./value-sums.ts";

// Local hours and days that have ended and whose sums are stored. A change of a slot deletes the sums of its hour and of its day; the
// background build makes them again.

/** The first and last of some slots. */
export interface SlotBounds {
  readonly first: Millis;
  readonly last: Millis;
}

/** A row of `usage_days`: a whole day whose sums are stored. Days do not overlap. */
export interface SummedDay {
  readonly day_from: Millis;
  readonly day_to: Millis;
}

/** What this process knows of the days whose sums are stored. */
export interface SummedDays {
  /** The end of the last of them, or later. Null if that was not read yet. */
  until: Millis | null;
}

/** Reads the days whose sums are stored, in order. */
export function readDays(connection: SqliteConnection): readonly SummedDay[] {
  return readSummedRows(connection, "SELECT day_from, day_to FROM usage_days ORDER BY day_from", []);
}

/** Reads the hours of a period whose sums are stored, in order. They do not overlap. */
export function readHours(connection: SqliteConnection, span: Span): readonly Span[] {
  return readSummedRows(
    connection,
    `SELECT hour_from AS "from", hour_to AS "to" FROM usage_hours
     WHERE hour_from >= ? AND hour_from < ? AND hour_to <= ? ORDER BY hour_from`,
    [...bounds(span), bounds(span)[1] ?? 0],
  );
}

/** Deletes the sums of the hours and days that the slots are in. The caller has begun a transaction. */
export function forgetSpans(connection: SqliteConnection, slots: SlotBounds): void {
  forgetHours(connection, slots);
  forgetDays(connection, slots);
}

/** Deletes the sums of the days that the slots are in. The caller has begun a transaction. */
function forgetDays(connection: SqliteConnection, { first, last }: SlotBounds): void {
  const days = connection
    .prepare<{ day_from: Millis }>("SELECT day_from FROM usage_days WHERE day_from <= ? AND day_to > ?")
    .all([last, first]);
  for (const { day_from } of days) deleteDay(connection, day_from);
}

/** Deletes the sums of the hours that the slots are in. The caller has begun a transaction. */
function forgetHours(connection: SqliteConnection, { first, last }: SlotBounds): void {
  const found = connection
    .prepare<{ from: Millis | null; to: Millis | null }>(
      `SELECT min(hour_from) AS "from", max(hour_from) AS "to" FROM usage_hours
       WHERE hour_from > ? AND hour_from <= ? AND hour_to > ?`,
    )
    .get([first - HOUR_MS, last, first]);
  if (found?.from == null || found.to === null) return;
  changeSums(connection);
  connection
    .prepare("DELETE FROM usage_hours WHERE hour_from >= ? AND hour_from <= ?")
    .run([found.from, found.to]);
  deleteValues(connection, "hours", { from: found.from, to: Number(found.to) + 1 });
}

/**
 * Deletes the sums of the days that the slots of coverage are in. Nearly all slots are later than every such day, which needs no query:
 * only the daemon sums up days, in this process. The caller has begun a transaction.
 */
export function forgetDaysOfSlots(
  connection: SqliteConnection,
  summedDays: SummedDays,
  slots: readonly Millis[],
): void {
  summedDays.until ??=
    connection.prepare<{ at: Millis | null }>("SELECT max(day_to) AS at FROM usage_days").get([])?.at ?? 0;
  const first = Math.min(...slots);
  if (first < summedDays.until) forgetDays(connection, { first, last: Math.max(...slots) });
}

/** Deletes the sums of a day. The caller has begun a transaction. */
function deleteDay(connection: SqliteConnection, from: Millis): void {
  changeSums(connection);
  connection.prepare("DELETE FROM usage_day_series WHERE day_from = ?").run([from]);
  deleteValues(connection, "days", { from, to: from + 1 });
  connection.prepare("DELETE FROM coverage_days WHERE day_from = ?").run([from]);
  connection.prepare("DELETE FROM usage_days WHERE day_from = ?").run([from]);
}

function deleteValues(
  connection: SqliteConnection,
  kind: keyof typeof VALUE_TABLES,
  { from, to }: Span,
): void {
  const remove = connection.prepare(
    `DELETE FROM ${VALUE_TABLES[kind]} WHERE column_name = ? AND span_from >= ? AND span_from < ?`,
  );
  for (const column of VALUE_COLUMNS) remove.run([column, from, to]);
}

/** Stores the sums of an hour, in place of those of hours of another time zone. Returns how many rows they have. */
export function sumHour(connection: SqliteConnection, { from, to }: Span): number {
  forgetHours(connection, { first: from, last: to - 1 });
  changeSums(connection);
  connection.prepare("INSERT INTO usage_hours (hour_from, hour_to) VALUES (?, ?)").run([from, to]);
  let rows = 0;
  for (const column of VALUE_COLUMNS)
    rows += connection
      .prepare(
        insertValues(
          "hours",
          // `CROSS JOIN`: the slots are found by their time.
          `SELECT ${column || "NULL"} AS value, cost_source, billing_mode, ${sumsOfSeries}
           FROM usage_slots CROSS JOIN usage_series USING (series_id) WHERE slot >= ? AND slot < ? GROUP BY 1, 2, 3`,
        ),
      )
      .run([column, from, from, to]);
  return rows;
}

/** Stores the sums of a day whose hours are stored, in place of those of days of another time zone. */
export function sumDay(connection: SqliteConnection, { from, to }: Span): void {
  forgetDays(connection, { first: from, last: to - 1 });
  changeSums(connection);
  connection.prepare("INSERT INTO usage_days (day_from, day_to) VALUES (?, ?)").run([from, to]);
  connection
    .prepare(
      `INSERT INTO usage_day_series (series_id, day_from, ${sumColumns.join(", ")})
       SELECT series_id, ?, ${sumColumns.map((column) => `sum(${column})`).join(", ")}
       FROM usage_slots WHERE slot >= ? AND slot < ? GROUP BY series_id`,
    )
    .run([from, from, to]);
  connection
    .prepare(
      `INSERT INTO coverage_days (day_from, host, kind, count, last_slot)
       SELECT ?, host, kind, sum(count), max(slot) FROM coverage WHERE slot >= ? AND slot < ? GROUP BY host, kind`,
    )
    .run([from, from, to]);
  for (const column of VALUE_COLUMNS)
    connection
      .prepare(
        insertValues(
          "days",
          `SELECT value, cost_source, billing_mode, ${valueSums.map((name) => `sum(${name}) AS ${name}`).join(", ")}
           FROM ${VALUE_TABLES.hours} WHERE column_name = ? AND span_from >= ? AND span_from < ? GROUP BY 1, 2, 3`,
        ),
      )
      .run([column, from, column, from, to]);
}

/** Inserts the sums of `rows` by value. Binds the column, the beginning of the span, and the values of `rows`. */
const insertValues = (kind: keyof typeof VALUE_TABLES, rows: string) => {
  const names = ["value", "cost_source", "billing_mode", ...valueSums].join(", ");
  return `INSERT INTO ${VALUE_TABLES[kind]} (column_name, span_from, row_number, ${names})
    SELECT ?, ?, row_number() OVER (), ${names} FROM (${rows})`;
};
