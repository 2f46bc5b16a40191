import type { TLSSocket } from "node:tls";
import {
  initialWarmState,
  type WarmEffect,
  type WarmEvent,
  type WarmState,
  warmTransition,
} from "../../core/operations/warm/warm-machine.ts";
import { type Authority, formatAuthority, parseAuthority } from "./authority.ts";
import { closeSocket } from "./close-socket.ts";
import type { WarmCounters } from "./counters.ts";
import type { ClientLocation, Dial } from "./dial.ts";
import { type DialTlsResult, dialTls } from "./dial-tls.ts";
import { readOwnAddresses } from "./own-addresses.ts";
import type { UpstreamTls } from "./upstream-tls.ts";

/** Connections to providers that are kept ready, so that a client's first call does not wait for TCP and TLS. */
export interface WarmConnections {
  /** Takes a ready connection, as one dialled for this client would be. Null if there is none. */
  take(target: Authority, client: ClientLocation): WarmConnection | null;
  /** Notes that a client got a verified connection that was dialled for it. */
  connected(target: Authority, client: ClientLocation): void;
  /** Closes all connections, and keeps none from now on. */
  close(): void;
}

/** A verified connection that was never used. Its holder claims or discards it. */
export interface WarmConnection {
  /** Whether the provider has ended the connection, or sent something, before it was claimed. */
  readonly isLost: boolean;
  /** Called once when it is lost. */
  onLost: (() => void) | null;
  /** Returns the connection, paused, as the holder's own. Null if it was lost. */
  claim(): TLSSocket | null;
  discard(): void;
}

/** Keeps no connections. */
export const noWarmConnections: WarmConnections = {
  take: () => null,
  connected: () => {},
  close: () => {},
};

/** The machine that the proxy runs on. */
export interface WarmHost {
  /** A clock for ages, in milliseconds. It may stand still while the machine sleeps. */
  monotonicNow(): number;
  wallNow(): number;
  /** The addresses of the machine's network interfaces, as one text; null if they can't be read now. */
  addresses(): string | null;
}

interface WarmOptions {
  readonly dial: Dial;
  readonly upstreamTls: UpstreamTls;
  readonly counters: WarmCounters;
  readonly host?: WarmHost;
  /** Called when the machine's addresses changed or the machine slept. */
  readonly onNetworkChanged?: () => void;
}

/** How often the network is checked while connections are kept, and at most how long before one is used, in milliseconds. */
const NETWORK_CHECK_MS = 2_000;
const NETWORK_CHECK_BEFORE_USE_MS = 500;

/** If the clocks diverge by more than this, in milliseconds, the machine slept or its clock was set. */
const CLOCK_JUMP_MS = 1_000;

const systemHost: WarmHost = {
  monotonicNow: () => performance.now(),
  wallNow: Date.now,
  addresses: () =>
    readOwnAddresses()
      ?.map(({ address }) => address)
      .sort()
      .join(" ") ?? null,
};

/** A connection of the machine: being dialled, or ready. */
interface OpenConnection {
  socket: TLSSocket | null;
  /** Cancels the dial, or stops watching the connection. */
  stop: () => void;
  onLost: () => void;
}

interface PoolState extends WarmOptions {
  readonly host: WarmHost;
  readonly open: Map<number, OpenConnection>;
  machine: WarmState;
  timer: NodeJS.Timeout | null;
  networkTimer: NodeJS.Timeout | null;
  addresses: string;
  clockOffsetMs: number;
  networkCheckedAt: number;
}

/** Creates the connections that `warmTransition()` decides on, all of them dialled and verified as any other. */
export function createWarmConnections(options: WarmOptions): WarmConnections {
  const pool: PoolState = {
    host: systemHost,
    ...options,
    open: new Map(),
    machine: initialWarmState,
    timer: null,
    networkTimer: null,
    addresses: "",
    clockOffsetMs: 0,
    networkCheckedAt: 0,
  };
  return {
    take: (target, client) => take(pool, keyOf(target, client)),
    connected(target, client) {
      if (pool.machine.status === "idle") startNetworkChecks(pool);
      dispatch(pool, { kind: "connected", key: keyOf(target, client) });
    },
    close: () => void dispatch(pool, { kind: "stopped" }),
  };
}

/** Clients on other machines reach fewer addresses, so they share no connections with those on this one. */
const keyOf = (target: Authority, client: ClientLocation) => `${client} ${formatAuthority(target)}`;

function take(pool: PoolState, key: string): WarmConnection | null {
  if (pool.host.monotonicNow() - pool.networkCheckedAt >= NETWORK_CHECK_BEFORE_USE_MS) checkNetwork(pool);
  const before = pool.machine;
  const used = dispatch(pool, { kind: "requested", key });
  if (used !== null) pool.counters.used += 1;
  else if (pool.machine !== before) pool.counters.missed += 1;
  return used === null ? null : toWarmConnection(used);
}

function toWarmConnection(connection: OpenConnection): WarmConnection {
  let hasEnded = false;
  const warm: WarmConnection = {
    get isLost() {
      return hasEnded || connection.socket?.destroyed !== false;
    },
    onLost: null,
    claim() {
      connection.stop();
      return warm.isLost ? null : connection.socket;
    },
    discard() {
      connection.stop();
      if (connection.socket !== null) closeSocket(connection.socket);
    },
  };
  connection.onLost = () => {
    hasEnded = true;
    warm.discard();
    warm.onLost?.();
  };
  return warm;
}

/** Takes the step, and returns the connection that the event asked for. */
function dispatch(pool: PoolState, event: WarmEvent): OpenConnection | null {
  const { state, effects } = warmTransition(pool.machine, event, pool.host.monotonicNow());
  pool.machine = state;
  let used: OpenConnection | null = null;
  for (const effect of effects) used = perform(pool, effect) ?? used;
  pool.counters.ready = state.hosts
    .flatMap(({ connections }) => connections)
    .filter(({ ready }) => ready).length;
  if (state.status !== "warm") stopNetworkChecks(pool);
  return used;
}

function perform(pool: PoolState, effect: WarmEffect): OpenConnection | null {
  switch (effect.kind) {
    case "use": {
      const connection = pool.open.get(effect.id) ?? null;
      pool.open.delete(effect.id);
      return connection;
    }
    case "dial":
      open(pool, effect.id, effect.key);
      return null;
    case "close":
      close(pool, effect.id);
      return null;
    case "set_timer":
      if (pool.timer !== null) clearTimeout(pool.timer);
      pool.timer = setTimeout(() => dispatch(pool, { kind: "timer_due" }), effect.delayMs);
      pool.timer.unref();
      return null;
    case "clear_timer":
      if (pool.timer !== null) clearTimeout(pool.timer);
      pool.timer = null;
      return null;
  }
}

function open(pool: PoolState, id: number, key: string): void {
  const [client, authority] = key.split(" ") as [ClientLocation, string];
  const target = parseAuthority(authority) as Authority;
  const connection: OpenConnection = {
    socket: null,
    stop: () => {},
    onLost() {
      pool.open.delete(id);
      pool.counters.unused += 1;
      if (connection.socket !== null) closeSocket(connection.socket);
      dispatch(pool, { kind: "lost", id });
    },
  };
  pool.open.set(id, connection);
  connection.stop = dialTls(pool, target, client, (opened) => onOpened(pool, id, connection, opened));
}

function onOpened(pool: PoolState, id: number, connection: OpenConnection, opened: DialTlsResult): void {
  if (!opened.ok) {
    pool.open.delete(id);
    pool.counters.failed += 1;
    dispatch(pool, { kind: "dial_failed", id, scope: failureScope(opened) });
    return;
  }
  connection.socket = opened.socket;
  connection.stop = watch(opened.socket, () => connection.onLost());
  dispatch(pool, { kind: "opened", id });
}

function close(pool: PoolState, id: number): void {
  const connection = pool.open.get(id);
  if (connection === undefined) return;
  pool.open.delete(id);
  connection.stop();
  if (connection.socket === null) return;
  pool.counters.unused += 1;
  closeSocket(connection.socket);
}

/** Reads the connection until it is used, since a connection that is not read does not report its end. */
function watch(socket: TLSSocket, onLost: () => void): () => void {
  const events = ["data", "end", "error", "close"];
  const stop = () => {
    for (const event of events) socket.off(event, lost);
    socket.pause();
  };
  const lost = () => {
    stop();
    onLost();
  };
  for (const event of events) socket.on(event, lost);
  socket.resume();
  return stop;
}

/** A failure without a response of the host or of a parent proxy is the network's. */
function failureScope(failed: DialTlsResult & { ok: false }): "host" | "network" {
  const isAnswer = /^(?:ECONNREFUSED|ECONNRESET|PARENT_PROXY_.*)$/.test(failed.code);
  return failed.reason === "upstream_unreachable" && !isAnswer ? "network" : "host";
}

function startNetworkChecks(pool: PoolState): void {
  readNetwork(pool);
  pool.networkTimer ??= setInterval(() => checkNetwork(pool), NETWORK_CHECK_MS);
  pool.networkTimer.unref();
}

function stopNetworkChecks(pool: PoolState): void {
  if (pool.networkTimer !== null) clearInterval(pool.networkTimer);
  pool.networkTimer = null;
}

/** Closes all connections if they may lead nowhere: a call on such a connection would hang. */
function checkNetwork(pool: PoolState): void {
  if (pool.machine.status !== "warm") return;
  const { addresses, clockOffsetMs } = pool;
  readNetwork(pool);
  if (pool.addresses === addresses && Math.abs(pool.clockOffsetMs - clockOffsetMs) <= CLOCK_JUMP_MS) return;
  dispatch(pool, { kind: "network_changed" });
  pool.onNetworkChanged?.();
}

function readNetwork(pool: PoolState): void {
  const { host } = pool;
  pool.addresses = host.addresses() ?? pool.addresses;
  pool.networkCheckedAt = host.monotonicNow();
  pool.clockOffsetMs = host.wallNow() - pool.networkCheckedAt;
}
