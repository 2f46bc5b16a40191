import type { Socket } from "node:net";
import type { CreateMessageInflater } from "../../core/ports/message-inflater.ts";
import type { ProcessFacts } from "../../core/ports/process-table.ts";
import type { CallGate } from "./call-gate.ts";
import type { GateAnswer } from "./call-question.ts";
import { closeSocket, resetAfterFlush } from "./close-socket.ts";
import type { ProxyCounters, RefusalReason } from "./counters.ts";
import type { Dial } from "./dial.ts";
import type { LeafContexts } from "./leaf-contexts.ts";
import type { LoginThrottle } from "./login-throttle.ts";
import type { Peers } from "./peers.ts";
import type { GatewayRoute, PasswordFor, ProxyLimits } from "./proxy-config.ts";
import type { CutOrder } from "./response-cut.ts";
import { tapClock } from "./tap-clock.ts";
import type { CloseReason, TapMode, TunnelReason } from "./tap-frames.ts";
import type { LoggedConnection, TapLog } from "./tap-log.ts";
import type { UpstreamTls } from "./upstream-tls.ts";
import type { WarmConnections } from "./warm-connections.ts";

/** A logged connection that can be closed. */
interface OpenRelay {
  readonly entry: LoggedConnection;
  close(): void;
  /** Ends a call of the connection that is under way. */
  cut(order: CutOrder): void;
}

/** What all connections of a worker share. */
export interface RelayContext {
  readonly limits: ProxyLimits;
  readonly counters: ProxyCounters;
  readonly log: TapLog;
  readonly dial: Dial;
  readonly leaves: LeafContexts;
  readonly upstreamTls: UpstreamTls;
  readonly warm: WarmConnections;
  readonly gatewayRoutes: readonly GatewayRoute[];
  /** The `Host` values of gateway mode, complete once the proxy listens. */
  readonly gatewayHosts: ReadonlySet<string>;
  readonly proxyPassword: string | null;
  readonly passwordFor: PasswordFor;
  readonly loginThrottle: LoginThrottle;
  readonly isProviderHost: (host: string, port: number) => boolean;
  /** Whether a provider's host speaks plain HTTP. */
  readonly isPlainHost: (host: string, port: number) => boolean;
  readonly nextConnection: () => number;
  /** Clients that have sent no complete head, or no hello after their CONNECT, oldest first. They are closed if slots run out. */
  readonly silent: Set<Socket>;
  readonly peers: Peers;
  readonly gate: CallGate;
  readonly createInflater: CreateMessageInflater;
  /** The connections in the log, by their number. */
  readonly relays: Map<number, OpenRelay>;
  /** Whether the daemon has ended and what is open continues without it. A later request is not relayed: it would not be metered. */
  isDraining: boolean;
}

/** The target of a relay, and its client. */
export interface RelayTarget {
  readonly host: string;
  readonly port: number;
  readonly client: Socket;
  readonly clientPort: number;
  readonly proxyUser: string | null;
}

/** A connection in the log, from `opened` to `closed`. */
export interface RelayLog {
  readonly entry: LoggedConnection;
  readonly log: TapLog;
  readonly caller: ProcessFacts | null;
  isDraining(): boolean;
  /**
   * Logs a request that was answered here instead of being sent upstream, with its answer. The answer to a turn of a WebSocket is not
   * logged: it is not the provider's.
   */
  blocked(answer: GateAnswer & { kind: "refuse" }, request: readonly Uint8Array[], isTurn?: boolean): void;
  /** Logs that a budget ended the call that was under way, and that the connection has ended. */
  cut(order: CutOrder): void;
  /** Sets what ends a call of the connection. Until then, none can be ended. */
  onCut(cut: (order: CutOrder) => void): void;
  /** Logs how the connection ended. Later calls have no effect. */
  closed(reason: CloseReason, code: string | null): void;
}

/** Logs `opened` and registers the connection. `close` is called when the log's reader finds the connection idle. */
export function openRelayLog(
  context: RelayContext,
  mode: TapMode,
  target: RelayTarget,
  close: () => void,
): RelayLog {
  const { log, relays } = context;
  const atMs = tapClock();
  const entry: LoggedConnection = { id: context.nextConnection(), lastAtMs: atMs, lost: false };
  context.counters[mode] += 1;
  let cut: (order: CutOrder) => void = () => {};
  relays.set(entry.id, { entry, close, cut: (order) => cut(order) });
  const caller = context.peers.processOf(target.client);
  log.note({
    kind: "opened",
    connection: entry.id,
    atMs,
    mode,
    host: target.host,
    port: target.port,
    clientPort: target.clientPort,
    proxyUser: target.proxyUser,
    ...(caller !== null && { caller }),
  });
  const closed = (reason: CloseReason, code: string | null) => {
    if (!relays.delete(entry.id)) return;
    // An unreachable provider shows nothing about the client.
    const byClient = reason === "clean" || reason === "client_aborted";
    if (byClient && mode === "intercepted" && entry.lastAtMs === atMs) context.counters.endedUnused += 1;
    log.note({ kind: "closed", connection: entry.id, atMs: tapClock(), reason, code });
  };
  return {
    entry,
    log,
    caller,
    isDraining: () => context.isDraining,
    closed,
    cut({ budget }) {
      log.note({ kind: "cut", connection: entry.id, budget });
      closed("client_aborted", CUT_CODE);
    },
    blocked({ answer, budget }, request, isTurn = false) {
      log.note({ kind: "blocked", connection: entry.id, budget });
      for (const bytes of request) log.data(entry, "request", bytes);
      if (!isTurn) log.data(entry, "response", answer);
    },
    onCut(handler) {
      cut = handler;
    },
  };
}

/** Counts and logs a connection that is tunnelled unread, or relayed in plain HTTP without a log. */
export function recordTunnel(
  context: RelayContext,
  target: RelayTarget,
  reason: TunnelReason,
  isPlain = false,
): void {
  context.counters.tunnelled[reason] += 1;
  context.log.note({
    kind: "tunnelled",
    connection: context.nextConnection(),
    atMs: tapClock(),
    host: target.host,
    port: target.port,
    reason,
    clientPort: target.clientPort,
    ...(isPlain && { isPlain }),
  });
}

/** Counts and logs a connection to a provider that was closed before its ClientHello. It carried no call. */
export function recordUnused(context: RelayContext, { host, clientPort }: RelayTarget): void {
  context.counters.closedUnused += 1;
  const connection = context.nextConnection();
  context.log.note({ kind: "closed_unused", connection, atMs: tapClock(), host, clientPort });
}

const statusTexts = {
  400: "Bad Request",
  403: "Forbidden",
  407: "Proxy Authentication Required",
  408: "Request Timeout",
  429: "Too Many Requests",
  431: "Request Header Fields Too Large",
  502: "Bad Gateway",
} as const;

/** A response from the proxy itself. */
export interface Refusal {
  readonly status: keyof typeof statusTexts;
  readonly reason: RefusalReason;
  /** One sentence for people. */
  readonly text: string;
  readonly retryAfterSeconds?: number;
}

/** Sends the answer of a budget, and closes the connection as `refuse()` does. */
export function sendRefusal(client: Socket, answer: Uint8Array): void {
  client.removeAllListeners("data");
  client.end(answer);
  const timer = setTimeout(() => closeSocket(client), refusalDrainMs);
  client.once("close", () => clearTimeout(timer));
  client.resume();
}

/** The code of a connection that was closed because a budget ended its call. */
const CUT_CODE = "BUDGET_CUT";

/** Ends the client's side of a call that a budget ended: after these bytes, or with a reset so that the response does not look complete. */
export function endCutClient(client: Socket, bytes: Uint8Array | null): void {
  if (bytes !== null) return sendRefusal(client, bytes);
  client.removeAllListeners("data");
  client.resume();
  resetAfterFlush(client);
}

/** How long a refused client may keep sending, in milliseconds. A reset before it has read the response would discard the response. */
const refusalDrainMs = 2_000;

/** Sends a refusal and closes the connection, after reading for a short time so that the response arrives. */
export function refuse(context: RelayContext, client: Socket, refusal: Refusal): void {
  context.counters.refused[refusal.reason] += 1;
  if (client.destroyed) return;
  const body = `meter: ${refusal.text}\n`;
  const { retryAfterSeconds } = refusal;
  const challenge = refusal.status === 407 ? 'Proxy-Authenticate: Basic realm="meter"\r\n' : "";
  const retryAfter = retryAfterSeconds === undefined ? "" : `Retry-After: ${retryAfterSeconds}\r\n`;
  client.removeAllListeners("data");
  client.removeAllListeners("end");
  client.end(
    `HTTP/1.1 ${refusal.status} ${statusTexts[refusal.status]}\r\nContent-Type: text/plain; charset=utf-8\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\n${challenge}${retryAfter}Connection: close\r\n\r\n${body}`,
  );
  const timer = setTimeout(() => closeSocket(client), refusalDrainMs);
  client.once("close", () => clearTimeout(timer));
  client.resume();
}
