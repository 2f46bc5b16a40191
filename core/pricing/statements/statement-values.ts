import { isObject, type JsonObject } from "../../values/json-object.ts";
import type { CalendarDate } from "../../values/time.ts";
import { formatCalendarDate, parseCalendarDate } from "../../wire/instant.ts";
import { parseDecimal, parseDecimalToPico } from "../decimal.ts";
import type { ReadLines, StatementLine } from "./statement-line.ts";

/** Pico-USD in one cent. */
const PICO_PLACES_OF_CENT = 10;

/** The largest count that is read. Sums of a file stay exact, and a hostile one costs no time. */
const MAX_COUNT = 10n ** 18n;

/** The largest amount of one line, in pico-USD: a billion USD. */
const MAX_AMOUNT = 10n ** 21n;

/** The longest name that is read. Longer ones are cut. */
const MAX_NAME = 256;

/** Thrown inside a reader for a value that is not what the format documents. `readSafely()` turns it into a problem. */
class InvalidValue extends Error {}

const fail = (name: string, value: unknown): never => {
  throw new InvalidValue(`${name} is ${JSON.stringify(value)?.slice(0, 60) ?? "missing"}`);
};

/** Runs a reader and returns its lines, or what value it can't read. */
export function readSafely(read: () => readonly StatementLine[]): ReadLines {
  try {
    return { ok: true, lines: read() };
  } catch (cause) {
    if (!(cause instanceof InvalidValue)) throw cause;
    return { ok: false, problem: cause.message };
  }
}

/** Reads a name. Absent, empty or null: null. */
export function nameOf(value: unknown): string | null {
  return typeof value === "string" && value.trim() !== "" ? value.trim().slice(0, MAX_NAME) : null;
}

/** Reads the day of an RFC 3339 time or of a date. The time is UTC, as all of these statements say. */
export function dayOf(name: string, value: unknown): CalendarDate {
  const day = typeof value === "string" ? value.slice(0, 10) : "";
  return parseCalendarDate(day) === null ? fail(name, value) : day;
}

/** Reads the day of a Unix time in seconds. */
export function dayOfSeconds(name: string, value: unknown): CalendarDate {
  const isTime = typeof value === "string" && /^\d{1,11}$/.test(value);
  return isTime ? formatCalendarDate(Number(value) * 1_000) : fail(name, value);
}

/** Reads an amount in USD. */
export function usdOf(name: string, value: unknown): bigint {
  return bounded(name, value, typeof value === "string" ? parseDecimalToPico(value.trim()) : null);
}

/** Reads an amount in cents. */
export function centsOf(name: string, value: unknown): bigint {
  return bounded(
    name,
    value,
    typeof value === "string" ? parseDecimal(value.trim(), PICO_PLACES_OF_CENT) : null,
  );
}

function bounded(name: string, value: unknown, amount: bigint | null): bigint {
  return amount !== null && amount <= MAX_AMOUNT && amount >= -MAX_AMOUNT ? amount : fail(name, value);
}

/** Checks that a currency is USD. An absent one is. */
export function checkUsd(name: string, value: unknown): void {
  const currency = nameOf(value);
  if (currency !== null && currency.toUpperCase() !== "USD") fail(name, value);
}

/** Reads a count, also one with decimals that are zero. Absent, empty or null: null. */
export function countOf(name: string, value: unknown): bigint | null {
  if (value === undefined || value === null || value === "") return null;
  const count = typeof value === "string" ? parseDecimal(value.trim(), 0) : null;
  return count !== null && count >= 0n && count <= MAX_COUNT ? count : fail(name, value);
}

/** Reads a count of requests. */
export function requestsOf(name: string, value: unknown): number | null {
  const count = countOf(name, value);
  return count === null ? null : Number(count);
}

/** Returns an object's property that is an object; an empty one if it is not. */
export function objectAt(value: JsonObject, name: string): JsonObject {
  const inner = value[name];
  return isObject(inner) ? inner : {};
}

/** Returns the objects of an array; throws for anything else. */
export function objectsAt(value: JsonObject, name: string): readonly JsonObject[] {
  const inner = value[name];
  return Array.isArray(inner) && inner.every(isObject) ? inner : fail(name, inner);
}

/** Returns the first result of a page's buckets, by which the page's format is recognised. */
export function firstResult({ data }: JsonObject): JsonObject | undefined {
  const buckets = Array.isArray(data) ? data.filter(isObject) : [];
  return buckets.flatMap(({ results }) => (Array.isArray(results) ? results : [])).find(isObject);
}
