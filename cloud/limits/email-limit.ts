import { DAY_MS, type Millis } from "../../core/values/time.ts";
import { createMemoryStates, type LimitStates } from "./limit-states.ts";

/** Most emails of one kind to one address in a day. Decision: enough to correct mistakes, too few to flood a mailbox. */
export const MAX_EMAILS = 10;

/** Limits the emails to one address. */
export interface EmailLimit {
  /** Counts one email. Resolves to null if it is allowed, else to the seconds until the next one is. */
  take(recipient: string, now: Millis): Promise<number | null>;
}

/** Creates a limit of `MAX_EMAILS` in any 24 hours. */
export function createEmailLimit(states: LimitStates = createMemoryStates()): EmailLimit {
  return {
    take: (recipient, now) =>
      states.change<readonly Millis[], number | null>([recipient], now, ([stored]) => {
        const known = stored ?? [];
        // A clock that was set back must not block an address for longer than a day. Its times count as now, from the first attempt on.
        const times = known.filter((at) => Math.abs(now - at) < DAY_MS).map((at) => Math.min(at, now));
        const oldest = times.length < MAX_EMAILS ? undefined : Math.min(...times);
        if (oldest !== undefined) {
          const states = known.some((at) => at > now) ? [times] : null;
          const result = Math.ceil((oldest + DAY_MS - now) / 1_000);
          return { states, expiresAt: now + DAY_MS, result };
        }
        return { states: [[...times, now]], expiresAt: now + DAY_MS, result: null };
      }),
  };
}
