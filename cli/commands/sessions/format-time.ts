import type { Millis } from "../../../core/values/time.ts";

/** Formats a time as `2026-11-23 06:47:35`. */
export function formatTime(at: Millis, utc: boolean): string {
  const shifted = utc ? at : at - new Date(at).getTimezoneOffset() * 60_000;
  return new Date(shifted).toISOString().slice(0, 19).replace("T", " ");
}
