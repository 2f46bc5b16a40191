import { type CalendarDate, DAY_MS, type Millis } from "./time.ts";

/** The calendar of a named time zone. Every day is one span of time, of 23 to 25 hours when clocks change. */
export interface ZoneCalendar {
  /** The IANA name, such as `Europe/Berlin`. */
  readonly name: string;
  /** Returns how far local clocks are ahead of UTC at an instant, in milliseconds. */
  offsetAt(at: Millis): number;
  /** Returns the date of the day that contains the instant. */
  dateAt(at: Millis): CalendarDate;
  /** Returns the first instant of a day. */
  startOf(date: CalendarDate): Millis;
}

/** The zones that were found, cached because creating a format takes 50 µs. */
const zones = new Map<string, ZoneCalendar | null>();

/** Returns the calendar of a zone, or null if the runtime does not know its name. */
export function findZone(name: string): ZoneCalendar | null {
  if (name.length > MAX_NAME) return null;
  const known = zones.get(name);
  return known === undefined ? remember(zones, name, createZone(name)) : known;
}

/** The longest name of a zone. The longest of the IANA database has 32 characters. */
const MAX_NAME = 64;

function createZone(name: string): ZoneCalendar | null {
  let format: Intl.DateTimeFormat;
  try {
    format = new Intl.DateTimeFormat("en-US", { timeZone: name, timeZoneName: "longOffset" });
  } catch {
    return null;
  }
  const offsets = new Map<Millis, number>();
  const starts = new Map<CalendarDate, Millis>();
  const readKnown = (at: Millis) => offsets.get(at) ?? remember(offsets, at, readOffset(format, at));
  // Clocks change at most once a day, so only the days on which they do are read more closely.
  const offsetAt = (at: Millis) => {
    const midnight = Math.floor(at / DAY_MS) * DAY_MS;
    const offset = readKnown(midnight);
    return offset === readKnown(midnight + DAY_MS) ? offset : readKnown(at);
  };
  const startOf = (date: CalendarDate) =>
    starts.get(date) ?? remember(starts, date, findStart(parseDate(date), offsetAt));
  return {
    name,
    offsetAt,
    startOf,
    dateAt: (at) => {
      // When clocks go back over midnight, the local date returns to the day before.
      const local = at + offsetAt(at);
      const next = formatDate(local + DAY_MS);
      return startOf(next) <= at ? next : formatDate(local);
    },
  };
}

/** How many values a calendar remembers. A year of hours has 8,784. */
const MAX_REMEMBERED = 20_000;

function remember<Key, Value>(known: Map<Key, Value>, key: Key, value: Value): Value {
  if (known.size >= MAX_REMEMBERED) known.clear();
  known.set(key, value);
  return value;
}

/** Splits a formatted time before its end: `GMT`, `GMT+05:45`, and before 1972 also `GMT-00:44:30`. */
const OFFSET = /GMT(?:([+-])(\d\d):(\d\d)(?::(\d\d))?)?$/;

function readOffset(format: Intl.DateTimeFormat, at: Millis): number {
  const [, sign, hours = 0, minutes = 0, seconds = 0] = format.format(at).split(OFFSET);
  const size = (Number(hours) * 60 + Number(minutes)) * 60 + Number(seconds);
  return (sign === "-" ? -size : size) * 1_000;
}

/** Finds the first instant whose local clock shows this midnight or later. */
function findStart(midnight: Millis, offsetAt: (at: Millis) => number): Millis {
  const [before, after] = [offsetAt(midnight - DAY_MS), offsetAt(midnight + DAY_MS)];
  const [early, late] = [midnight - before, midnight - after];
  if (before === after) return early;
  // The clocks change within a day of this midnight: `to` becomes the first instant with another offset than before.
  let [from, to] = [midnight - DAY_MS, midnight + DAY_MS];
  while (to - from > 1) {
    const middle = Math.floor((from + to) / 2);
    if (offsetAt(middle) === before) from = middle;
    else to = middle;
  }
  return early < to ? early : Math.max(to, late);
}

/** Parsed and formatted dates, cached because a page uses the same ones thousands of times. */
const midnights = new Map<CalendarDate, Millis>();
const dates = new Map<number, CalendarDate>();

const parseDate = (date: CalendarDate): Millis =>
  midnights.get(date) ?? remember(midnights, date, Date.parse(`${date}T00:00:00Z`));

function formatDate(at: Millis): CalendarDate {
  const day = Math.floor(at / DAY_MS);
  return dates.get(day) ?? remember(dates, day, new Date(at).toISOString().slice(0, 10));
}

/** Returns the date a number of days later, or earlier if it is negative. */
export const addDays = (date: CalendarDate, days: number): CalendarDate =>
  formatDate(parseDate(date) + days * DAY_MS);

/** Returns the number of days from one date to another. */
export const daysBetween = (from: CalendarDate, to: CalendarDate): number =>
  Math.round((parseDate(to) - parseDate(from)) / DAY_MS);

/** Returns the weekday of a date: 0 is Monday. */
export const weekdayOf = (date: CalendarDate): number => (new Date(parseDate(date)).getUTCDay() + 6) % 7;

/** Returns the first day of a date's month, or of one some months later. */
export function monthOf(date: CalendarDate, months = 0): CalendarDate {
  const [year = 0, month = 1] = date.split("-").map(Number);
  return formatDate(Date.UTC(year, month - 1 + months, 1));
}
