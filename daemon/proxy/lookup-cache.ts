import { type LookupAddress, type LookupOptions, lookup } from "node:dns";

/** Called with all addresses of a host, and with whether they were resolved before. */
type LookupDone = (
  error: NodeJS.ErrnoException | null,
  addresses: readonly LookupAddress[],
  wasCached: boolean,
) => void;

/** Resolves host names with the system's resolver, and remembers the answers for a short time. */
export interface LookupCache {
  /** Calls `done` once, asynchronously. Parallel requests for the same name share one look-up. */
  lookup(hostname: string, options: LookupOptions, done: LookupDone): void;
  /** Forgets the answers for a host. */
  forget(hostname: string): void;
  clear(): void;
}

/**
 * How long an answer is used, in milliseconds. Decision: the system's resolver does not tell how long an answer is valid; this
 * is shorter than the time to live of nearly all names.
 */
export const LOOKUP_MAX_AGE_MS = 10_000;

/** Maximum number of remembered answers; the oldest is removed first. */
const maxAnswers = 256;

/** A function such as `lookup()` of `node:dns` with `all: true`. */
export type Resolve = (
  hostname: string,
  options: LookupOptions & { all: true },
  done: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void;

/** Creates an empty cache. `now` is a clock that continues while the machine sleeps. */
export function createLookupCache(resolve: Resolve = lookup, now: () => number = Date.now): LookupCache {
  const answers = new Map<string, { readonly addresses: readonly LookupAddress[]; readonly at: number }>();
  const waiting = new Map<string, LookupDone[]>();
  return {
    lookup(hostname, { family = 0, hints = 0 }, done) {
      const key = `${hostname} ${family} ${hints}`;
      const found = answers.get(key);
      const ageMs = found === undefined ? -1 : now() - found.at;
      if (found !== undefined && ageMs >= 0 && ageMs < LOOKUP_MAX_AGE_MS) {
        process.nextTick(() => done(null, found.addresses, true));
        return;
      }
      const others = waiting.get(key);
      if (others !== undefined) return void others.push(done);
      const all = [done];
      waiting.set(key, all);
      resolve(hostname, { family, hints, all: true }, (error, addresses) => {
        waiting.delete(key);
        answers.delete(key);
        if (error === null) answers.set(key, { addresses, at: now() });
        if (answers.size > maxAnswers) answers.delete(answers.keys().next().value as string);
        for (const each of all) each(error, addresses ?? [], false);
      });
    },
    forget(hostname) {
      for (const key of answers.keys()) if (key.startsWith(`${hostname} `)) answers.delete(key);
    },
    clear: () => answers.clear(),
  };
}
