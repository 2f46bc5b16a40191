import type { RequestRecord } from "../../../core/values/record.ts";
import type { Millis } from "../../../core/values/time.ts";

/**
 * How long the lookup of a call's caller may take after the call has ended, in milliseconds. Then the record is sent without
 * the caller. This covers the lookup's own timeout, and a store that is locked or full for a moment.
 */
export const ATTRIBUTION_DUE_MS = 30_000;

/** Returns between which due times, both included, a record waits for its caller. A later one is of a clock that was ahead. */
export const awaitedDueTimes = (now: Millis): readonly [from: Millis, to: Millis] => [
  now,
  now + ATTRIBUTION_DUE_MS,
];

/** Whether a record waits for its caller. */
export function isCallerAwaited(
  { attributionDueAt }: Pick<RequestRecord, "attributionDueAt">,
  now: Millis,
): boolean {
  if (attributionDueAt === undefined) return false;
  const [from, to] = awaitedDueTimes(now);
  return from <= attributionDueAt && attributionDueAt <= to;
}
