import type { RequestStatus } from "./port/records.ts";

/** The statuses that have a name. */
export const STATUS_NAMES = ["ok", "failed", "blocked", "unpriced", "incomplete"] as const;

/** Parses a status: a name or an HTTP status. Returns null if it is neither. */
export function parseRequestStatus(text: string): RequestStatus | null {
  const named = STATUS_NAMES.find((each) => each === text);
  if (named !== undefined) return named;
  return /^[1-9]\d\d$/.test(text) ? Number(text) : null;
}
