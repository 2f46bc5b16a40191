import type { Socket } from "node:net";
import type { ProxyCounters, RefusalReason } from "./counters.ts";
import type { Dial } from "./dial.ts";
import type { LeafContexts } from "./leaf-contexts.ts";
import type { GatewayRoute, ProxyLimits } from "./proxy-config.ts";
import type { CloseReason, TapMode, TunnelReason } from "./tap-frames.ts";
import { type LoggedConnection, type TapLog, tapClock } from "./tap-log.ts";
import type { UpstreamTls } from "./upstream-tls.ts";

/** A logged connection that can be told to close. */
export interface OpenRelay {
  readonly entry: LoggedConnection;
  close(): void;
}

/** What all connections of one worker share. */
export interface RelayContext {
  readonly limits: ProxyLimits;
  readonly counters: ProxyCounters;
  readonly log: TapLog;
  readonly dial: Dial;
  readonly leaves: LeafContexts;
  readonly upstreamTls: UpstreamTls;
  readonly gatewayRoutes: readonly GatewayRoute[];
  /** The `Host` values of gateway mode, complete once the proxy listens. */
  readonly gatewayHosts: ReadonlySet<string>;
  readonly proxyPassword: string | null;
  readonly isProviderHost: (host: string, port: number) => boolean;
  readonly nextConnection: () => number;
  /** The connections in the log, by their number. */
  readonly relays: Map<number, OpenRelay>;
}

/** Where a relay goes and for whom. */
export interface RelayTarget {
  readonly host: string;
  readonly port: number;
  readonly clientPort: number;
  readonly proxyUser: string | null;
}

/** A connection's place in the log, from `opened` to `closed`. */
export interface RelayLog {
  readonly entry: LoggedConnection;
  readonly log: TapLog;
  /** Says how it ended; later calls say nothing. */
  closed(reason: CloseReason, code: string | null): void;
}

/** Writes `opened` and registers the connection; `close` tells it to go when the log's reader finds it quiet. */
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
  relays.set(entry.id, { entry, close });
  log.note({
    kind: "opened",
    connection: entry.id,
    atMs,
    mode,
    host: target.host,
    port: target.port,
    clientPort: target.clientPort,
    proxyUser: target.proxyUser,
  });
  return {
    entry,
    log,
    closed(reason, code) {
      if (!relays.delete(entry.id)) return;
      // A provider that can't be reached says nothing of the client.
      const byClient = reason === "clean" || reason === "client_aborted";
      if (byClient && mode === "intercepted" && entry.lastAtMs === atMs) context.counters.endedUnused += 1;
      log.note({ kind: "closed", connection: entry.id, atMs: tapClock(), reason, code });
    },
  };
}

/** Counts and logs a connection that is passed on unread. */
export function noteTunnel(context: RelayContext, target: RelayTarget, reason: TunnelReason): void {
  context.counters.tunnelled[reason] += 1;
  context.log.note({
    kind: "tunnelled",
    connection: context.nextConnection(),
    atMs: tapClock(),
    host: target.host,
    port: target.port,
    reason,
    clientPort: target.clientPort,
  });
}

const statusTexts = {
  400: "Bad Request",
  403: "Forbidden",
  407: "Proxy Authentication Required",
  408: "Request Timeout",
  431: "Request Header Fields Too Large",
  502: "Bad Gateway",
} as const;

/** An answer of the proxy's own. */
export interface Refusal {
  readonly status: keyof typeof statusTexts;
  readonly reason: RefusalReason;
  /** One plain sentence for the person who reads it. */
  readonly text: string;
}

/** How long a refused client may go on sending; a reset before it has read the answer would take the answer away. */
const refusalDrainMs = 2_000;

/** Answers with a small text and closes, reading on for a moment so that the answer arrives. */
export function refuse(context: RelayContext, client: Socket, refusal: Refusal): void {
  context.counters.refused[refusal.reason] += 1;
  if (client.destroyed) return;
  const body = `meter: ${refusal.text}\n`;
  const challenge = refusal.status === 407 ? 'Proxy-Authenticate: Basic realm="meter"\r\n' : "";
  client.removeAllListeners("data");
  client.removeAllListeners("end");
  client.end(
    `HTTP/1.1 ${refusal.status} ${statusTexts[refusal.status]}\r\nContent-Type: text/plain; charset=utf-8\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\n${challenge}Connection: close\r\n\r\n${body}`,
  );
  const timer = setTimeout(() => client.destroy(), refusalDrainMs);
  client.once("close", () => clearTimeout(timer));
  client.resume();
}
