import {
  type ClearTimerEffect,
  runTable,
  type SetTimerEffect,
  type Step,
  type Table,
} from "../../values/machine.ts";
import type { Millis } from "../../values/time.ts";

/** Maximum number of warm connections per host, with those being dialled. Source: docs/specification.md#warm-connections. */
export const MAX_WARM_PER_HOST = 8;

/** Maximum number of warm connections in all, with those being dialled. Source: docs/specification.md#warm-connections. */
export const MAX_WARM = 16;

/** Maximum number of hosts that are remembered. */
export const MAX_WARM_HOSTS = 32;

/**
 * A connection is closed unused at this age, in milliseconds, counted from its dial. Providers and the networks before them
 * close idle connections after 60 s or later. Source: docs/specification.md#warm-connections.
 */
export const MAX_WARM_AGE_MS = 20_000;

/** A host that closes idle connections before twice this age gets none. In milliseconds. Source: docs/specification.md#warm-connections. */
export const MIN_WARM_AGE_MS = 5_000;

/** A host without a new connection for this time, in milliseconds, keeps no warm ones. Source: docs/specification.md#warm-connections. */
export const WARM_FOR_MS = 120_000;

/** The shortest and the longest pause of a host after a failure, in milliseconds. Each failure in a row makes it four times as long. */
export const MIN_WARM_PAUSE_MS = 1_000;
export const MAX_WARM_PAUSE_MS = 600_000;

/** A connection that no client uses yet. */
interface WarmConnection {
  readonly id: number;
  readonly dialledAt: Millis;
  readonly ready: boolean;
}

interface WarmHost {
  readonly key: string;
  /** When a client last needed a new connection; null if the host is not in recent use. */
  readonly usedAt: Millis | null;
  /** How many connections are kept, from 1 to `MAX_WARM_PER_HOST`. */
  readonly wanted: number;
  readonly maxAgeMs: number;
  readonly failures: number;
  readonly pausedUntil: Millis | null;
  /** Oldest first. */
  readonly connections: readonly WarmConnection[];
}

/** The state of the warm connections of all hosts. Plain JSON. */
export interface WarmState {
  /** `warm`: a host is in recent use. */
  readonly status: "idle" | "warm" | "stopped";
  /** Least recently used first. */
  readonly hosts: readonly WarmHost[];
  readonly lastId: number;
  /** When the timer fires; null if it is not set. */
  readonly checkAt: Millis | null;
}

/** An event of the clients, the connections or the machine's network. `key` names a host and how it is reached. */
export type WarmEvent =
  /** A client needs a new connection. Answered by `use`, or by no such effect if none is ready. */
  | { readonly kind: "requested"; readonly key: string }
  /** A client got a new connection, verified, that was not a warm one. */
  | { readonly kind: "connected"; readonly key: string }
  | { readonly kind: "opened"; readonly id: number }
  /** `network`: the failure is this machine's, as far as its error code tells. */
  | { readonly kind: "dial_failed"; readonly id: number; readonly scope: "host" | "network" }
  /** A ready connection ended, or sent something, before a client used it. */
  | { readonly kind: "lost"; readonly id: number }
  | { readonly kind: "timer_due" }
  /** The machine changed its addresses, or slept. */
  | { readonly kind: "network_changed" }
  | { readonly kind: "stopped" };

/** An effect on the connections. After `use` and `close`, no event names the connection. */
export type WarmEffect =
  | { readonly kind: "use"; readonly id: number }
  | { readonly kind: "dial"; readonly id: number; readonly key: string }
  /** Closes a connection, or cancels its dial. */
  | { readonly kind: "close"; readonly id: number }
  | SetTimerEffect<"check">
  | ClearTimerEffect<"check">;

type WarmStep = Step<WarmState, WarmEffect>;

/** The state before the first call. */
export const initialWarmState: WarmState = { status: "idle", hosts: [], lastId: 0, checkAt: null };

/** The warm connections, row by row. Source: docs/specification.md#warm-connections. */
export const warmTable: Table<WarmState, WarmEvent, WarmEffect> = {
  idle: {
    requested: "ignored",
    connected: { to: { warm: "the first call" }, run: connected },
    opened: "ignored",
    dial_failed: "ignored",
    lost: "ignored",
    timer_due: "ignored",
    network_changed: "ignored",
    stopped: { to: { stopped: "the proxy stops" }, run: stop },
  },
  warm: {
    requested: { to: { warm: "a ready connection is used" }, run: requested },
    connected: { to: { warm: "none was ready" }, run: connected },
    opened: { to: { warm: "it is ready" }, run: opened },
    dial_failed: { to: { warm: "the host pauses", idle: "the network failed" }, run: dialFailed },
    lost: { to: { warm: "the host pauses, and keeps them for a shorter time" }, run: lost },
    timer_due: { to: { warm: "old ones are replaced", idle: "no call for 2 minutes" }, run: check },
    network_changed: { to: { idle: "all are closed" }, run: closeAll },
    stopped: { to: { stopped: "the proxy stops" }, run: stop },
  },
  stopped: {
    requested: "ignored",
    connected: "ignored",
    opened: "ignored",
    dial_failed: "ignored",
    lost: "ignored",
    timer_due: "ignored",
    network_changed: "ignored",
    stopped: "ignored",
  },
};

/** The transition of the warm connections. `now` is of a monotonic clock. */
export function warmTransition(state: WarmState, event: WarmEvent, now: Millis): WarmStep {
  return runTable(warmTable, state, event, now);
}

/** Uses the youngest connection. If all are still being dialled, the host keeps one more from now on. */
function requested(state: WarmState, { key }: { readonly key: string }, now: Millis): WarmStep {
  const host = state.hosts.find((each) => each.key === key);
  if (host === undefined || host.usedAt === null) return { state, effects: [] };
  const { connections, maxAgeMs, wanted } = host;
  const found = connections.findLast(({ ready, dialledAt }) => ready && now - dialledAt < maxAgeMs);
  if (found === undefined) {
    const isShort = connections.length >= wanted;
    const grown = isShort ? Math.min(wanted + 1, MAX_WARM_PER_HOST) : wanted;
    return refill(touchHost(state, { ...host, wanted: grown, usedAt: now }), key, now);
  }
  const rest = connections.filter((each) => each !== found);
  const used = touchHost(state, { ...host, connections: rest, usedAt: now, failures: 0 });
  return refill(used, key, now, [{ kind: "use", id: found.id }]);
}

function connected(state: WarmState, { key }: { readonly key: string }, now: Millis): WarmStep {
  const known = state.hosts.find((each) => each.key === key);
  const host = known ?? {
    key,
    wanted: 1,
    maxAgeMs: MAX_WARM_AGE_MS,
    failures: 0,
    pausedUntil: null,
    connections: [],
  };
  const room = known === undefined ? makeRoom(state) : state;
  if (room === null) return { state, effects: [] };
  return refill(touchHost({ ...room, status: "warm" }, { ...host, usedAt: now }), key, now);
}

/** Forgets a host that is not in recent use, if as many as possible are remembered. Null if all are in use. */
function makeRoom(state: WarmState): WarmState | null {
  if (state.hosts.length < MAX_WARM_HOSTS) return state;
  const oldest = state.hosts.find(({ usedAt }) => usedAt === null);
  return oldest === undefined ? null : { ...state, hosts: state.hosts.filter((each) => each !== oldest) };
}

function opened(state: WarmState, { id }: { readonly id: number }): WarmStep {
  const hosts = state.hosts.map((host) =>
    owns(host, id)
      ? {
          ...host,
          connections: host.connections.map((each) => (each.id === id ? { ...each, ready: true } : each)),
        }
      : host,
  );
  return { state: { ...state, hosts }, effects: [] };
}

/** The certificate may have changed, or the provider may be restarting, so the host's other connections are closed too. */
function dialFailed(
  state: WarmState,
  { id, scope }: { readonly id: number; readonly scope: "host" | "network" },
  now: Millis,
): WarmStep {
  const host = state.hosts.find((each) => owns(each, id));
  if (host === undefined) return { state, effects: [] };
  const others = host.connections.filter((each) => each.id !== id);
  if (scope === "network") return closeAll(replaceHost(state, { ...host, connections: others }));
  const pauseMs = Math.min(MIN_WARM_PAUSE_MS * 4 ** host.failures, MAX_WARM_PAUSE_MS);
  const paused = {
    ...host,
    wanted: 1,
    connections: [],
    failures: host.failures + 1,
    pausedUntil: now + pauseMs,
  };
  return { state: replaceHost(state, paused), effects: others.map(closeEffect) };
}

/** The host closes idle connections at about this age, so it keeps them for half of it from now on, or for a while none. */
function lost(state: WarmState, { id }: { readonly id: number }, now: Millis): WarmStep {
  const host = state.hosts.find((each) => owns(each, id));
  const connection = host?.connections.find((each) => each.id === id);
  if (host === undefined || connection === undefined) return { state, effects: [] };
  const learnedMs = Math.floor((now - connection.dialledAt) / 2);
  const isTooShort = learnedMs < MIN_WARM_AGE_MS;
  const paused = {
    ...host,
    connections: host.connections.filter((each) => each !== connection),
    maxAgeMs: isTooShort ? host.maxAgeMs : Math.min(host.maxAgeMs, learnedMs),
    pausedUntil: now + (isTooShort ? MAX_WARM_PAUSE_MS : MIN_WARM_PAUSE_MS),
  };
  return withTimer(replaceHost(state, paused), now);
}

/**
 * Closes connections that are too old. A host in recent use gets new ones in their place, but one fewer for each that
 * was never used.
 */
function check(state: WarmState, _: object, now: Millis): WarmStep {
  const effects: WarmEffect[] = [];
  let next: WarmState = { ...state, checkAt: null };
  for (const host of state.hosts) {
    if (host.usedAt === null) continue;
    const isIdle = now - host.usedAt >= WARM_FOR_MS;
    const old = host.connections.filter(({ dialledAt }) => isIdle || now - dialledAt >= host.maxAgeMs);
    const unused = old.filter(({ ready }) => ready).length;
    next = replaceHost(next, {
      ...host,
      usedAt: isIdle ? null : host.usedAt,
      wanted: isIdle ? 1 : Math.max(1, host.wanted - unused),
      failures: unused > 0 ? 0 : host.failures,
      connections: host.connections.filter((each) => !old.includes(each)),
    });
    effects.push(...old.map(closeEffect));
  }
  if (next.hosts.every(({ usedAt }) => usedAt === null))
    return { state: { ...next, status: "idle" }, effects };
  for (const { key } of next.hosts) {
    const filled = dialMissing(next, key, now);
    next = filled.state;
    effects.push(...filled.effects);
  }
  return withTimer(next, now, effects);
}

function closeAll(state: WarmState): WarmStep {
  const effects: WarmEffect[] = state.hosts.flatMap(({ connections }) => connections.map(closeEffect));
  if (state.checkAt !== null) effects.push({ kind: "clear_timer", timer: "check" });
  const hosts = state.hosts.map((host): WarmHost => ({ ...host, usedAt: null, wanted: 1, connections: [] }));
  return { state: { ...state, status: "idle", hosts, checkAt: null }, effects };
}

function stop(state: WarmState): WarmStep {
  const { state: closed, effects } = closeAll(state);
  return { state: { ...closed, status: "stopped", hosts: [] }, effects };
}

/** Dials what the host lacks, and sets the timer. */
function refill(state: WarmState, key: string, now: Millis, effects: readonly WarmEffect[] = []): WarmStep {
  const filled = dialMissing(state, key, now);
  return withTimer(filled.state, now, [...effects, ...filled.effects]);
}

function dialMissing(state: WarmState, key: string, now: Millis): WarmStep {
  const host = state.hosts.find((each) => each.key === key);
  if (host === undefined || host.usedAt === null) return { state, effects: [] };
  if (host.pausedUntil !== null && now < host.pausedUntil) return { state, effects: [] };
  const total = state.hosts.reduce((sum, { connections }) => sum + connections.length, 0);
  const missing = Math.max(0, Math.min(host.wanted - host.connections.length, MAX_WARM - total));
  const dialled = Array.from({ length: missing }, (_, index): WarmConnection => {
    return { id: state.lastId + 1 + index, dialledAt: now, ready: false };
  });
  const filled = { ...host, connections: [...host.connections, ...dialled] };
  return {
    state: { ...replaceHost(state, filled), lastId: state.lastId + missing },
    effects: dialled.map(({ id }) => ({ kind: "dial", id, key })),
  };
}

/** Sets the timer for what is due first, unless it fires before that anyway. */
function withTimer(state: WarmState, now: Millis, effects: readonly WarmEffect[] = []): WarmStep {
  const dueAt = Math.min(
    ...state.hosts.flatMap(({ usedAt, maxAgeMs, connections }) =>
      usedAt === null
        ? []
        : [usedAt + WARM_FOR_MS, ...connections.map(({ dialledAt }) => dialledAt + maxAgeMs)],
    ),
  );
  if (state.checkAt !== null && state.checkAt <= dueAt) return { state, effects };
  const delayMs = Math.max(1, dueAt - now);
  const timer: WarmEffect = { kind: "set_timer", timer: "check", delayMs };
  return { state: { ...state, checkAt: now + delayMs }, effects: [...effects, timer] };
}

const closeEffect = ({ id }: WarmConnection): WarmEffect => ({ kind: "close", id });

const owns = ({ connections }: WarmHost, id: number) => connections.some((each) => each.id === id);

function replaceHost(state: WarmState, host: WarmHost): WarmState {
  return { ...state, hosts: state.hosts.map((each) => (each.key === host.key ? host : each)) };
}

/** Replaces the host, or adds it, as the one used last. */
function touchHost(state: WarmState, host: WarmHost): WarmState {
  return { ...state, hosts: [...state.hosts.filter(({ key }) => key !== host.key), host] };
}
