import { isObject } from "../../../values/json-object.ts";
import type { Millis } from "../../../values/time.ts";
import { asObject } from "../../usage/token-counts.ts";
import type { LogEntry, LogFault, LogStep } from "../log-entry.ts";

/** The longest text that is taken from a log, in characters. */
const MAX_TEXT = 4096;

/** Earlier times are errors of a clock: no agent is older. */
const EARLIEST = Date.UTC(2020, 0, 1);

/** Later times are errors of a clock. */
const LATEST = Date.UTC(2100, 0, 1);

/** Members of an object of a log. */
export type Members = Readonly<Record<string, unknown>>;

/** Returns the value if it is a text, not empty and not too long; otherwise null. */
export function readText(value: unknown): string | null {
  return typeof value === "string" && value !== "" && value.length <= MAX_TEXT ? value : null;
}

/** Returns an id that is a text or a number, as a text; otherwise `unknown`. */
export function readId(value: unknown): string {
  return typeof value === "number" ? String(value) : (readText(value) ?? "unknown");
}

/** Returns the first of the values that is a text. */
export function firstText(...values: readonly unknown[]): string | null {
  for (const value of values) {
    const text = readText(value);
    if (text !== null) return text;
  }
  return null;
}

/** Reads a time: ISO 8601, SQLite's `2026-08-05 05:00:00` (UTC), or a number of milliseconds or seconds. */
export function readTime(value: unknown): Millis | null {
  const millis =
    typeof value === "number" ? ofNumber(value) : typeof value === "string" ? ofText(value) : null;
  return millis === null ? null : readMillis(millis);
}

/** Returns a time, or null if it is the error of a clock. */
export const readMillis = (millis: Millis): Millis | null =>
  millis >= EARLIEST && millis < LATEST ? Math.trunc(millis) : null;

const ofNumber = (value: number): number => (value < 1e11 ? value * 1000 : value);

function ofText(text: string): number | null {
  if (text.length > 40) return null;
  const iso = /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d/.test(text)
    ? `${text.replace(" ", "T").replace(/Z?$/, "Z")}`
    : text;
  const millis = Date.parse(iso);
  return Number.isNaN(millis) ? null : millis;
}

/** Returns an amount in USD as a decimal number; null if the value is not a positive number. */
export function readUsd(value: unknown): string | null {
  return typeof value === "number" && Number.isFinite(value) && value > 0 ? String(value) : null;
}

/** Parses JSON. Anything else gives null. */
export function parseJson(text: unknown): unknown {
  if (typeof text !== "string") return null;
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** Returns the objects of a list; empty if the value is not a list. */
export function objectsOf(value: unknown): Members[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

/** Returns the members of a member that is an object; empty otherwise. */
export const membersOf = (value: unknown): Members => asObject(value);

const NONE: readonly never[] = [];

/** A step that changes only the state, or nothing. */
export const noStep = <State>(state: State): LogStep<State> => ({ state, entries: NONE, faults: NONE });

/** A step that finds a fault. */
export const faultStep = <State>(state: State, ...faults: LogFault[]): LogStep<State> => ({
  state,
  entries: NONE,
  faults,
});

/** A step that finds entries. */
export const entryStep = <State>(
  state: State,
  entries: readonly LogEntry[],
  faults: readonly LogFault[] = NONE,
): LogStep<State> => ({ state, entries, faults });
