import type { Millis } from "../../core/values/time.ts";
import { createMemoryStates, type LimitDecision, type LimitStates } from "./limit-states.ts";

/** How many wrong passwords in a row cause no wait. Decision: more than a person who forgot theirs is likely to try. */
export const FREE_FAILURES = 10;

/** The wait after the next wrong password, milliseconds; it doubles with each one, up to the maximum. Decision. */
export const FIRST_WAIT_MS = 15_000;
export const MAX_WAIT_MS = 15 * 60_000;

/** How long failures are remembered after the last one, milliseconds. Decision: a day. */
export const FAILURES_TTL_MS = 86_400_000;

/** How long an address from which an account was signed in is remembered, milliseconds. Decision: 30 days. */
const KNOWN_TTL_MS = 30 * 86_400_000;

/** Most accounts remembered at once in memory; beyond that, those that failed longest ago are forgotten. */
const MAX_ACCOUNTS = 10_000;

/** Most addresses remembered per account: the latest from which it was signed in. */
const MAX_KNOWN_ADDRESSES = 5;

/** Slows down guessing one account's password from many addresses. */
export interface SignInThrottle {
  /**
   * Starts an attempt, which counts as failed until `succeeded()` or `refund()`. Resolves to null if it is allowed, else to the seconds
   * to wait.
   */
  take(account: string, address: string, now: Millis): Promise<number | null>;
  /** Reports that the password was right: clears the account's failures and remembers the address. */
  succeeded(account: string, address: string, now: Millis): Promise<void>;
  /** Reports that the attempt did not test the password, so it does not count. */
  refund(account: string, now: Millis): Promise<void>;
}

/** What is known about an account name. */
interface AccountState {
  /** Wrong passwords in a row. */
  readonly count: number;
  /** When the last of them was tried. */
  readonly lastAt: Millis;
  /** Addresses from which it was signed in, the latest last. */
  readonly known: readonly string[];
}

const UNKNOWN: AccountState = { count: 0, lastAt: 0, known: [] };

/**
 * Creates a throttle. It counts by the account name that was tried, whether or not the account exists, so that a refusal
 * does not reveal it. An address that the account was signed in from before never waits, so a stranger cannot lock the owner
 * out there. Elsewhere the owner waits at most 15 minutes, or sets a new password by email.
 */
export function createSignInThrottle(states: LimitStates = createMemoryStates(MAX_ACCOUNTS)): SignInThrottle {
  return {
    take: (account, address, now) =>
      states.change<AccountState, number | null>([account], now, ([stored]) => {
        const { count, lastAt, known } = stored ?? UNKNOWN;
        if (known.includes(address)) return unchanged(null);
        const failures = Math.abs(now - lastAt) < FAILURES_TTL_MS ? count : 0;
        const wait = waitMs(failures, lastAt, now);
        if (wait > 0) {
          const seconds = Math.ceil(wait / 1_000);
          // A clock that was set back starts the wait once, not at each attempt until it is there again.
          return lastAt > now ? changed({ count, lastAt: now, known }, now, seconds) : unchanged(seconds);
        }
        return changed({ count: failures + 1, lastAt: now, known }, now, null);
      }),
    succeeded: (account, address, now) =>
      states.change<AccountState, void>([account], now, ([stored]) => {
        const others = (stored ?? UNKNOWN).known.filter((each) => each !== address);
        const known = [...others, address].slice(-MAX_KNOWN_ADDRESSES);
        return changed({ count: 0, lastAt: now, known }, now, undefined);
      }),
    refund: (account, now) =>
      states.change<AccountState, void>([account], now, ([stored]) =>
        stored === null || stored === undefined || stored.count === 0
          ? unchanged(undefined)
          : changed({ ...stored, count: stored.count - 1 }, now, undefined),
      ),
  };
}

/** Returns how long an account waits after this many failures, milliseconds. */
function waitMs(failures: number, lastAt: Millis, now: Millis): number {
  if (failures < FREE_FAILURES) return 0;
  const wait = Math.min(FIRST_WAIT_MS * 2 ** (failures - FREE_FAILURES), MAX_WAIT_MS);
  // A clock that was set back must not make the wait longer.
  return Math.min(lastAt + wait - now, wait);
}

function unchanged<Result>(result: Result): LimitDecision<AccountState, Result> {
  return { states: null, expiresAt: 0, result };
}

function changed<Result>(
  state: AccountState,
  now: Millis,
  result: Result,
): LimitDecision<AccountState, Result> {
  const expiresAt = now + (state.known.length > 0 ? KNOWN_TTL_MS : FAILURES_TTL_MS);
  return { states: [state], expiresAt, result };
}
