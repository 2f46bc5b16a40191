import type { Millis } from "../../core/values/time.ts";

/** A limit's decision about some clients. */
export interface LimitDecision<State, Result> {
  /** The new states, in the order of the clients; null to leave them unchanged. */
  readonly states: readonly State[] | null;
  /** When the new states can be forgotten. */
  readonly expiresAt: Millis;
  readonly result: Result;
}

/** Stores the states of limits by client: in memory, or in a database that several processes share. States are JSON values. */
export interface LimitStates {
  /**
   * Changes the states of some clients in one step: `decide` gets the states in the order of the clients, null for a client
   * without one. It can run more than once and must be pure. Rejects with a `DatabaseError` if a database is used and fails.
   */
  change<State, Result>(
    clients: readonly string[],
    now: Millis,
    decide: (states: readonly (State | null)[]) => LimitDecision<State, Result>,
  ): Promise<Result>;
}

/** How many clients are stored before expired ones are removed. */
const SWEEP_AT = 10_000;

/** The share of the clients that remains after a sweep of too many. */
const KEPT_SHARE = 0.9;

interface StoredState {
  readonly state: unknown;
  readonly expiresAt: Millis;
}

/**
 * Creates states in the memory of this process. If there are more than `maxClients`, those that expire first are removed; if they expire
 * at the same time, those that were changed first.
 */
export function createMemoryStates(maxClients = Number.POSITIVE_INFINITY): LimitStates {
  const stored = new Map<string, StoredState>();
  let sweepAt = Math.min(SWEEP_AT, maxClients);

  function sweep(now: Millis): void {
    for (const [client, { expiresAt }] of stored) if (expiresAt <= now) stored.delete(client);
    if (stored.size > maxClients) {
      const byExpiry = [...stored].sort(([, a], [, b]) => a.expiresAt - b.expiresAt);
      const excess = stored.size - Math.floor(maxClients * KEPT_SHARE);
      for (const [client] of byExpiry.slice(0, excess)) stored.delete(client);
    }
    sweepAt = Math.min(Math.max(SWEEP_AT, stored.size * 2), maxClients);
  }

  return {
    async change<State, Result>(
      clients: readonly string[],
      now: Millis,
      decide: (states: readonly (State | null)[]) => LimitDecision<State, Result>,
    ) {
      const before = clients.map((client) => {
        const found = stored.get(client);
        return found === undefined || found.expiresAt <= now ? null : (found.state as State);
      });
      const { states, expiresAt, result } = decide(before);
      if (states === null) return result;
      for (const [at, client] of clients.entries()) {
        // Deleted first, so that the entry moves to the end of the map.
        stored.delete(client);
        stored.set(client, { state: states[at], expiresAt });
      }
      if (stored.size > sweepAt) sweep(now);
      return result;
    },
  };
}

/** Returns the part of the states that belongs to one limit. */
export function statesOf(limit: string, states: LimitStates): LimitStates {
  return {
    change: (clients, now, decide) =>
      states.change(
        clients.map((client) => `${limit} ${client}`),
        now,
        decide,
      ),
  };
}
