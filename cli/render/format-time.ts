import { MINUTE_MS, type Millis } from "../../core/values/time.ts";

/** Formats a time as `2026-11-23 06:47:35`, in UTC or in local time. */
export function formatTime(at: Millis, utc: boolean): string {
  const shifted = utc ? at : at - new Date(at).getTimezoneOffset() * MINUTE_MS;
  return new Date(shifted).toISOString().slice(0, 19).replace("T", " ");
}
