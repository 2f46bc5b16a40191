import { isIPv6 } from "node:net";

/** Slows down an address that guesses passwords. */
export interface LoginThrottle {
  /** Returns how long the address has to wait before its next attempt is checked, in milliseconds. */
  waitMs(address: string): number;
  recordFailure(address: string): void;
  recordSuccess(address: string): void;
}

/** How many wrong passwords in a row cause no wait, to allow for typing errors. */
const FREE_FAILURES = 5;

/** The first wait and the longest, in milliseconds. The wait doubles with each wrong password. */
const FIRST_WAIT_MS = 1_000;
const MAX_WAIT_MS = 300_000;

/** Failures of an address are forgotten this long after the last one, in milliseconds. */
const FORGET_AFTER_MS = 3_600_000;

/** How many addresses are remembered. Beyond that, the one whose last failure is oldest is forgotten. */
const MAX_ADDRESSES = 1_024;

/** Returns the key of an address: an IPv4 address, or a whole IPv6 /64, since one client usually has all of it. */
function toNetwork(address: string): string {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  if (mapped !== undefined) return mapped;
  if (!isIPv6(address)) return address;
  const [left = "", right] = address.replace(/%.*$/, "").split("::");
  const head = left === "" ? [] : left.split(":");
  const tail = right === undefined || right === "" ? [] : right.split(":");
  const zeros = Array<string>(Math.max(0, 8 - head.length - tail.length)).fill("0");
  return [...head, ...zeros, ...tail].slice(0, 4).join(":");
}

/** Creates a throttle. `nowMs` is a clock that never steps back. */
export function createLoginThrottle(nowMs: () => number): LoginThrottle {
  const failuresByNetwork = new Map<string, { count: number; lastAtMs: number }>();

  const findFailures = (network: string) => {
    const known = failuresByNetwork.get(network);
    if (known === undefined || nowMs() - known.lastAtMs < FORGET_AFTER_MS) return known;
    failuresByNetwork.delete(network);
    return undefined;
  };
  return {
    waitMs(address) {
      const known = findFailures(toNetwork(address));
      if (known === undefined || known.count < FREE_FAILURES) return 0;
      const lockMs = Math.min(FIRST_WAIT_MS * 2 ** (known.count - FREE_FAILURES), MAX_WAIT_MS);
      return Math.max(0, known.lastAtMs + lockMs - nowMs());
    },
    recordFailure(address) {
      const network = toNetwork(address);
      const count = (findFailures(network)?.count ?? 0) + 1;
      failuresByNetwork.delete(network); // moves it to the end
      failuresByNetwork.set(network, { count, lastAtMs: nowMs() });
      const [oldest] = failuresByNetwork.keys();
      if (failuresByNetwork.size > MAX_ADDRESSES && oldest !== undefined) failuresByNetwork.delete(oldest);
    },
    recordSuccess: (address) => void failuresByNetwork.delete(toNetwork(address)),
  };
}
