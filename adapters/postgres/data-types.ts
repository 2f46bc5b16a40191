import type { Millis } from "../../core/values/time.ts";

/** Object ids of PostgreSQL's types (`pg_type.dat`). */
export const INT8_OID = 20;
export const DATE_OID = 1082;
export const TIMESTAMPTZ_OID = 1184;

/** Reads a timestamptz that a session in UTC writes, such as `2026-11-21 10:00:00.5+00`. */
export function readTimestamptz(text: string): Millis {
  return Date.parse(text.replace(" ", "T").replace(/\+00$/, "Z"));
}

/** Formats an instant that a session reads identically in every time zone. */
export function writeTimestamptz(value: unknown): string {
  return typeof value === "number" ? new Date(value).toISOString() : String(value);
}

/** Returns the text unchanged. */
export function asText(value: unknown): string {
  return String(value);
}
