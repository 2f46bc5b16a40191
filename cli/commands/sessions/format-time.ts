import type { Millis } from "../../../core/values/time.ts";

/** Formats a time as `2026-11-23 06:47:35`. */
export function formatTime(at: Millis, utc: boolean): string {
  const shifted = utc ? at : at - new Date(at).getTimezoneOffset() * 60_000;
  return new Date(shifted).toISOString().slice(0, 19).replace("T", " ");
}

/** Formats the length of a session: `45 s`, `12 min`, `3 h 5 min`, `2 d 4 h`. */
export function formatSpan(ms: number): string {
  const seconds = Math.round(ms / 1_000);
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  return hours < 24 ? `${hours} h ${minutes % 60} min` : `${Math.floor(hours / 24)} d ${hours % 24} h`;
}
