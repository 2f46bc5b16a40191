import { isLongWindow } from "../../core/metering/limits/limit-events.ts";
import {
  compareLimits,
  isLimitListed,
  type LimitView as SeenLimit,
  toLimitView,
} from "../../core/metering/limits/limit-view.ts";
import type { Millis } from "../../core/values/time.ts";
import type { LimitStore } from "../store/port/limits.ts";

/** A window as the loopback API and `meter limits --json` show it. */
export interface LimitView extends SeenLimit {
  readonly id: number;
}

/** The history that the burn rate of any window needs, in milliseconds. */
const BURN_HISTORY_MS = 86_400_000;

/**
 * Reads the windows to show: of each account the shortest first. Rate limits that have refilled since they were seen, and windows that
 * ended long ago, are left out.
 */
export function readLimitViews(limits: Pick<LimitStore, "list" | "history">, now: Millis): LimitView[] {
  return limits
    .list()
    .filter((limit) => isLimitListed(limit, now))
    .sort(compareLimits)
    .map((limit) => ({
      id: limit.id,
      ...toLimitView(limit, limits.history(limit.id, now - BURN_HISTORY_MS), now),
    }));
}

/** Limits without those that refill within minutes. */
export const longWindowsOf = (
  limits: Pick<LimitStore, "list" | "history">,
): Pick<LimitStore, "list" | "history"> => ({
  list: () => limits.list().filter(isLongWindow),
  history: limits.history,
});
