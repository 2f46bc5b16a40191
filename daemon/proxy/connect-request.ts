import { isIP, type Socket } from "node:net";
import { readClientHello } from "../../core/metering/exchange/client-hello.ts";
import { headerValue, type RequestHead } from "../../core/metering/exchange/head.ts";
import { parseAuthority } from "./authority.ts";
import { closeSocket, resetSocket } from "./close-socket.ts";
import type { ClientLocation, DialResult } from "./dial.ts";
import { createDialRefusal } from "./dial-refusal.ts";
import { normaliseHost } from "./host-patterns.ts";
import { intercept } from "./intercept.ts";
import { locateClient } from "./locate-client.ts";
import type { PeerOwner } from "./peers.ts";
import {
  openRelayLog,
  type RelayContext,
  type RelayTarget,
  recordTunnel,
  recordUnused,
  refuse,
} from "./relay-context.ts";
import { startTap } from "./tap.ts";
import type { TunnelReason } from "./tap-frames.ts";
import { secureDialled, useWarm } from "./upstream-source.ts";
import type { WarmConnection } from "./warm-connections.ts";

/** A CONNECT that is being served. */
interface ConnectRequest {
  readonly context: RelayContext;
  readonly client: Socket;
  readonly clientLocation: ClientLocation;
  readonly target: RelayTarget;
  /** Bytes that followed the request. */
  readonly rest: Buffer;
}

/**
 * Serves a CONNECT: connects to the target, answers, then reads the client's first message while its user is looked up. A TLS
 * connection of this user to a provider's host that allows HTTP/1.1 is intercepted. Any other connection is tunnelled unread.
 */
export function serveConnect(
  context: RelayContext,
  client: Socket,
  head: RequestHead,
  rest: Buffer,
  proxyUser: string | null,
): void {
  const authority = parseAuthority(head.target);
  const length = headerValue(head.headers, "content-length");
  if (
    authority === null ||
    (length !== null && length !== "0") ||
    headerValue(head.headers, "transfer-encoding")
  ) {
    return refuse(context, client, {
      status: 400,
      reason: "malformed",
      text: "CONNECT needs host:port and no body",
    });
  }
  const target: RelayTarget = { ...authority, client, clientPort: client.remotePort ?? 0, proxyUser };
  const request = { context, client, clientLocation: locateClient(client), target, rest };
  if (!context.isProviderHost(authority.host, authority.port)) return connectToOther(request);
  if (!context.peers.isLookedUp(client))
    context.log.note({ kind: "calling", connection: 0, clientPort: target.clientPort, proxyUser });
  const isPlain = context.isPlainHost(authority.host, authority.port);
  const warm = isPlain ? null : context.warm.take(authority, request.clientLocation);
  if (warm === null) return dialProvider(request, isPlain);
  acceptConnect(request);
  inspectClientHello(request, { kind: "warm", connection: warm });
}

/** Connects to a host that is no provider's. Such a connection does not depend on the client's user. */
function connectToOther(request: ConnectRequest): void {
  const { context, client, clientLocation, target } = request;
  const cancel = context.dial(target, "tunnel", clientLocation, (dialled) => {
    client.off("close", cancel);
    if (!dialled.ok) return refuse(context, client, createDialRefusal(target, dialled));
    acceptConnect(request);
    tunnel(context, client, dialled, target, "not_provider");
  });
  client.once("close", cancel);
}

function dialProvider(request: ConnectRequest, isPlain: boolean): void {
  const { context, client, clientLocation, target } = request;
  let cancel = context.dial(target, "tunnel", clientLocation, (dialled) => {
    if (dialled.ok && !isPlain) {
      client.off("close", onGone);
      acceptConnect(request);
      return inspectClientHello(request, { kind: "dialled", socket: dialled.socket });
    }
    const cancelWait = context.peers.onOwnerKnown(client, (owner) => {
      client.off("close", onGone);
      if (!dialled.ok) return refuseUnreached(request, dialled, owner);
      acceptConnect(request);
      if (owner === "other") tunnel(context, client, dialled, target, "other_user");
      else tapPlain(context, client, dialled, target);
    });
    cancel = () => {
      cancelWait();
      if (dialled.ok) closeSocket(dialled.socket);
    };
  });
  const onGone = () => cancel();
  client.once("close", onGone);
}

function refuseUnreached(
  { context, client, target }: ConnectRequest,
  failed: DialResult & { ok: false },
  owner: PeerOwner,
): void {
  if (owner !== "other" && failed.reason === "upstream_unreachable")
    openRelayLog(context, "intercepted", target, () => {}).closed(failed.reason, failed.code);
  refuse(context, client, createDialRefusal(target, failed));
}

function acceptConnect({ client, rest }: ConnectRequest): void {
  client.write("HTTP/1.1 200 Connection Established\r\n\r\n");
  if (rest.length > 0) client.unshift(rest);
}

function tunnel(
  context: RelayContext,
  client: Socket,
  upstream: { readonly socket: Socket },
  target: RelayTarget,
  reason: TunnelReason,
): void {
  recordTunnel(context, target, reason);
  startTap({
    client,
    upstream: upstream.socket,
    relayLog: null,
    lingerMs: context.limits.lingerMs,
  });
}

/**
 * Relays and logs a connection to a server that speaks plain HTTP. Some clients, such as undici, use CONNECT for `http://` URLs
 * too. The first byte is not waited for, because another program on the port may speak first.
 */
function tapPlain(
  context: RelayContext,
  client: Socket,
  upstream: { readonly socket: Socket },
  target: RelayTarget,
): void {
  let close = (): void => {
    client.end();
  };
  const relayLog = openRelayLog(context, "absolute", target, () => close());
  close = startTap({
    client,
    upstream: upstream.socket,
    relayLog,
    lingerMs: context.limits.lingerMs,
    hold: { gate: context.gate, createInflater: context.createInflater, target },
  });
}

/** A client's first message that is complete, or too long, or not TLS. */
interface FirstMessage {
  /** Why the connection is tunnelled; null if it is intercepted. */
  readonly tunnelReason: TunnelReason | null;
}

/** What the client's connection is relayed to: a TCP connection to the target, or a verified TLS connection. */
type Upstream =
  | { readonly kind: "dialled"; readonly socket: Socket }
  | { readonly kind: "warm"; readonly connection: WarmConnection };

/**
 * Waits for the client's first message and its user, puts the message back, and intercepts or tunnels the connection. Nothing
 * is sent upstream before. A connection of another user is tunnelled without waiting for a message. Any other client that
 * sends nothing in time is closed and not tunnelled: otherwise waiting would be a way around metering. A connection that either
 * side closes before the hello is complete was not used, whatever the client would have sent.
 */
function inspectClientHello(request: ConnectRequest, upstream: Upstream): void {
  const { context, client, target } = request;
  const dialled = upstream.kind === "dialled" ? upstream.socket : null;
  let seen: Buffer = Buffer.alloc(0);
  let message: FirstMessage | null = null;
  let owner: PeerOwner | null = null;
  let cancelWait = () => {};
  context.silent.add(client);
  const stopReading = () => {
    context.silent.delete(client);
    clearTimeout(timer);
    client.off("data", onData);
    client.off("end", onEnd);
    client.pause();
  };
  const stop = () => {
    stopReading();
    cancelWait();
    client.off("close", onGone);
    dialled?.off("close", onGone);
  };
  const endUnused = (endSocket: (socket: Socket) => void) => {
    stop();
    if (owner !== null) recordUnused(context, target);
    endBoth(client, upstream, endSocket);
  };
  const onEnd = () => endUnused(closeSocket);
  const onGone = () => endUnused(resetSocket);
  const serve = () => {
    const tunnelReason = owner === "other" ? "other_user" : message?.tunnelReason;
    if (owner === null || tunnelReason === undefined) return;
    stop();
    if (seen.length > 0) client.unshift(seen);
    serveFirstMessage(request, upstream, tunnelReason);
  };
  const onData = (bytes: Buffer) => {
    seen = seen.length === 0 ? bytes : Buffer.concat([seen, bytes]);
    const tunnelReason = judgeHello(seen, target.host);
    if (tunnelReason === undefined) return;
    message = { tunnelReason };
    stopReading();
    serve();
  };
  // Without a complete hello there is nothing to relay.
  const timer = setTimeout(() => {
    context.counters.refused.head_timeout += 1;
    onEnd();
  }, context.limits.helloTimeoutMs);
  client.on("data", onData);
  client.once("end", onEnd);
  client.once("close", onGone);
  dialled?.once("close", onGone);
  if (client.destroyed || dialled?.destroyed) return onGone();
  client.resume();
  cancelWait = context.peers.onOwnerKnown(client, (found) => {
    owner = found;
    serve();
  });
}

function endBoth(client: Socket, upstream: Upstream, endSocket: (socket: Socket) => void): void {
  endSocket(client);
  if (upstream.kind === "dialled") endSocket(upstream.socket);
  else upstream.connection.discard();
}

/** Returns why a client with these first bytes is tunnelled, null if it is not, and undefined if the ClientHello is incomplete. */
function judgeHello(seen: Buffer, host: string): TunnelReason | null | undefined {
  const hello = readClientHello(seen);
  if (hello.kind === "incomplete") return undefined;
  if (hello.kind === "not_tls") return "not_tls";
  if (!isServerNameOf(hello.serverName, host)) return "sni_mismatch";
  return hello.alpn.length === 0 || hello.alpn.includes("http/1.1") ? null : "http2_only";
}

/** Intercepts the connection, or tunnels it if there is a reason to. */
function serveFirstMessage(request: ConnectRequest, upstream: Upstream, reason: TunnelReason | null): void {
  const { context, client, clientLocation, target } = request;
  const leaf = reason === null ? context.leaves.find(normaliseHost(target.host)) : null;
  if (leaf !== null) {
    const source =
      upstream.kind === "dialled"
        ? secureDialled(context, upstream.socket, target, clientLocation)
        : useWarm(context, upstream.connection, target, clientLocation);
    intercept(context, client, source, target, leaf);
  } else if (upstream.kind === "dialled") {
    tunnel(context, client, upstream, target, reason ?? "no_certificate");
  } else {
    upstream.connection.discard();
    dialTunnel(request, reason ?? "no_certificate");
  }
}

/** Tunnels a client that was promised a connection before it turned out that it needs another one than those kept ready. */
function dialTunnel({ context, client, clientLocation, target }: ConnectRequest, reason: TunnelReason): void {
  const cancel = context.dial(target, "tunnel", clientLocation, (dialled) => {
    client.off("close", cancel);
    if (dialled.ok) return tunnel(context, client, dialled, target, reason);
    context.counters.refused[dialled.reason] += 1;
    resetSocket(client);
  });
  client.once("close", cancel);
}

function isServerNameOf(serverName: string | null, host: string): boolean {
  if (serverName === null) return isIP(host) !== 0; // RFC 6066, section 3: addresses are not sent
  return normaliseHost(serverName) === normaliseHost(host);
}
