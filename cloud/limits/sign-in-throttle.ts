import type { Millis } from "../../core/values/time.ts";

/** How many wrong passwords in a row cause no wait. Decision: more than a person who forgot theirs is likely to try. */
export const FREE_FAILURES = 10;

/** The wait after the next wrong password, milliseconds; it doubles with each one, up to the maximum. Decision. */
export const FIRST_WAIT_MS = 15_000;
export const MAX_WAIT_MS = 15 * 60_000;

/** How long failures are remembered after the last one, milliseconds. Decision: a day. */
export const FAILURES_TTL_MS = 86_400_000;

/** Most accounts remembered at once; beyond that, the one that failed longest ago is forgotten. */
const MAX_ACCOUNTS = 10_000;

/** Most addresses remembered per account: the latest from which it was signed in. */
const MAX_KNOWN_ADDRESSES = 5;

/** Slows down guessing one account's password from many addresses. */
export interface SignInThrottle {
  /** Starts an attempt and counts it as failed until told otherwise. Returns null if it is allowed, else the seconds to wait. */
  take(account: string, address: string, now: Millis): number | null;
  /** Reports that the password was right: clears the account's failures and remembers the address. */
  succeeded(account: string, address: string): void;
  /** Reports that the attempt did not test the password, so it does not count. */
  refund(account: string): void;
}

interface Failures {
  readonly count: number;
  readonly lastAt: Millis;
}

/**
 * Creates a throttle. It counts by the account name that was tried, whether or not the account exists, so that a refusal
 * does not reveal it. An address that the account was signed in from before never waits, so a stranger cannot lock the owner
 * out there. Elsewhere the owner waits at most 15 minutes, or sets a new password by email.
 *
 * The state is in memory, like the rate limits: each instance of the server counts separately.
 */
export function createSignInThrottle(): SignInThrottle {
  const failures = new Map<string, Failures>();
  const known = new Map<string, readonly string[]>();

  function waitMs({ count, lastAt }: Failures, now: Millis): number {
    if (count < FREE_FAILURES) return 0;
    const wait = Math.min(FIRST_WAIT_MS * 2 ** (count - FREE_FAILURES), MAX_WAIT_MS);
    // A clock that was set back must not make the wait longer.
    return Math.min(lastAt + wait - now, wait);
  }

  /** Stores a value as the newest entry and removes the oldest if there are too many. */
  function remember<T>(map: Map<string, T>, account: string, value: T): void {
    map.delete(account);
    map.set(account, value);
    const [oldest] = map.keys();
    if (map.size > MAX_ACCOUNTS && oldest !== undefined) map.delete(oldest);
  }

  return {
    take(account, address, now) {
      if (known.get(account)?.includes(address) === true) return null;
      const before = failures.get(account);
      const isFresh = before !== undefined && Math.abs(now - before.lastAt) < FAILURES_TTL_MS;
      const current = isFresh ? before : { count: 0, lastAt: now };
      const wait = waitMs(current, now);
      if (wait > 0) return Math.ceil(wait / 1_000);
      remember(failures, account, { count: current.count + 1, lastAt: now });
      return null;
    },
    succeeded(account, address) {
      failures.delete(account);
      const others = (known.get(account) ?? []).filter((each) => each !== address);
      remember(known, account, [...others, address].slice(-MAX_KNOWN_ADDRESSES));
    },
    refund(account) {
      const current = failures.get(account);
      if (current === undefined) return;
      if (current.count <= 1) failures.delete(account);
      else failures.set(account, { ...current, count: current.count - 1 });
    },
  };
}
