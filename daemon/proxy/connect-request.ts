import { isIP, type Socket } from "node:net";
import { readClientHello } from "../../core/metering/exchange/client-hello.ts";
import { headerValue, type RequestHead } from "../../core/metering/exchange/head.ts";
import { parseAuthority } from "./authority.ts";
import { closeSocket, resetSocket } from "./close-socket.ts";
import type { ClientLocation } from "./dial.ts";
import { createDialRefusal } from "./dial-refusal.ts";
import { normaliseHost } from "./host-patterns.ts";
import { intercept } from "./intercept.ts";
import { dialForPeer } from "./peers.ts";
import {
  locateClient,
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

/** The maximum size of a TLS ClientHello, in bytes. A longer first message is treated as not TLS. */
const maxHelloBytes = 65_536;

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
 * Serves a CONNECT: connects to the target, answers, then reads the client's first message. A TLS connection to a
 * provider's host that allows HTTP/1.1 is intercepted. Any other connection is tunnelled unread.
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
  const target: RelayTarget = { ...authority, clientPort: client.remotePort ?? 0, proxyUser };
  const request = { context, client, clientLocation: locateClient(client), target, rest };
  if (!context.isProviderHost(authority.host, authority.port)) return connectToOther(request);
  context.log.note({ kind: "calling", connection: 0, clientPort: target.clientPort, proxyUser });
  const isPlain = context.isPlainHost(authority.host, authority.port);
  const warm = isPlain ? null : context.warm.take(authority, request.clientLocation);
  if (warm === null) dialProvider(request, isPlain);
  else useWarmConnection(request, warm);
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
  const { context, client, target } = request;
  const cancel = dialForPeer(context, client, target, "tunnel", (dialled, owner) => {
    client.off("close", onGone);
    if (!dialled.ok) {
      if (owner !== "other" && dialled.reason === "upstream_unreachable") {
        openRelayLog(context, "intercepted", target, () => {}).closed(dialled.reason, dialled.code);
      }
      return refuse(context, client, createDialRefusal(target, dialled));
    }
    acceptConnect(request);
    if (owner === "other") tunnel(context, client, dialled, target, "other_user");
    else if (isPlain) tapPlain(context, client, dialled, target);
    else inspectClientHello(request, { kind: "dialled", socket: dialled.socket });
  });
  const onGone = () => cancel();
  client.once("close", onGone);
}

function useWarmConnection(request: ConnectRequest, warm: WarmConnection): void {
  const { context, client } = request;
  let cancelWait = () => {};
  const onGone = () => {
    cancelWait();
    warm.discard();
  };
  client.once("close", onGone);
  cancelWait = context.peers.onOwnerKnown(client, (owner) => {
    client.off("close", onGone);
    if (owner === "other") {
      warm.discard();
      dialProvider(request, false);
    } else {
      acceptConnect(request);
      inspectClientHello(request, { kind: "warm", connection: warm });
    }
  });
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
  close = startTap({ client, upstream: upstream.socket, relayLog, lingerMs: context.limits.lingerMs });
}

/** What the client's connection is relayed to: a TCP connection to the target, or a verified TLS connection. */
type Upstream =
  | { readonly kind: "dialled"; readonly socket: Socket }
  | { readonly kind: "warm"; readonly connection: WarmConnection };

/**
 * Waits for the client's first message, puts it back, and intercepts or tunnels the connection. A client that sends nothing
 * in time is closed and not tunnelled: otherwise waiting would be a way around metering. A connection that either side
 * closes before the hello is complete was not used, whatever the client would have sent.
 */
function inspectClientHello(request: ConnectRequest, upstream: Upstream): void {
  const { context, client, target } = request;
  const dialled = upstream.kind === "dialled" ? upstream.socket : null;
  let seen: Buffer = Buffer.alloc(0);
  context.silent.add(client);
  const stop = () => {
    context.silent.delete(client);
    clearTimeout(timer);
    client.off("data", onData);
    client.off("end", onEnd);
    client.off("close", onGone);
    dialled?.off("close", onGone);
    client.pause();
  };
  const endUnused = (endSocket: (socket: Socket) => void) => {
    stop();
    recordUnused(context, target);
    endSocket(client);
    if (upstream.kind === "dialled") endSocket(upstream.socket);
    else upstream.connection.discard();
  };
  const onEnd = () => endUnused(closeSocket);
  const onGone = () => endUnused(resetSocket);
  const decide = (reason: TunnelReason | null) => {
    stop();
    if (seen.length > 0) client.unshift(seen);
    serveFirstMessage(request, upstream, reason);
  };
  const onData = (bytes: Buffer) => {
    seen = seen.length === 0 ? bytes : Buffer.concat([seen, bytes]);
    const hello = readClientHello(seen);
    if (hello.kind === "incomplete") {
      if (seen.length > maxHelloBytes) decide("not_tls");
    } else if (hello.kind === "not_tls") decide("not_tls");
    else if (!isServerNameOf(hello.serverName, target.host)) decide("sni_mismatch");
    else decide(hello.alpn.length === 0 || hello.alpn.includes("http/1.1") ? null : "http2_only");
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
  if (client.destroyed || dialled?.destroyed) onGone();
  else client.resume();
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
