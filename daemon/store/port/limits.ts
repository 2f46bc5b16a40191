import type { LimitPoint } from "../../../core/metering/limits/limit-change.ts";
import type { LimitReading } from "../../../core/metering/limits/stated-limit.ts";
import type { Millis } from "../../../core/values/time.ts";

/** A window with its latest reading. */
export interface StoredLimit extends LimitReading {
  readonly id: number;
}

/** A reading of a window, and whether its use belongs into the history. */
export interface LimitChanged {
  readonly reading: LimitReading;
  readonly isPoint: boolean;
}

/** What `trim()` leaves. */
export interface LimitBounds {
  /** Readings before this time are deleted, and windows that were not seen since. */
  readonly before: Millis;
  readonly maxWindows: number;
  readonly maxPoints: number;
}

/** The limits of accounts: the latest reading of each window, and the history of their use. */
export interface LimitStore {
  /** Saves readings in one transaction. Idempotent. A window is known by provider, account, window, scope and unit. */
  save(changed: readonly LimitChanged[]): void;
  /** Returns the windows, the last seen first. */
  list(): StoredLimit[];
  /** Returns the history of a window since a time, in order. The reading before that time is the first. Unknown: empty. */
  history(id: number, since: Millis): LimitPoint[];
  /** Deletes the oldest readings and windows beyond the bounds. Idempotent. */
  trim(bounds: LimitBounds): void;
}
