import { isIP, type Socket } from "node:net";
import { readClientHello } from "../../core/metering/exchange/client-hello.ts";
import { headerValue, type RequestHead } from "../../core/metering/exchange/head.ts";
import { type Authority, parseAuthority } from "./authority.ts";
import { closeSocket, resetSocket } from "./close-socket.ts";
import type { DialResult } from "./dial.ts";
import type { ForbiddenTarget } from "./forbidden-targets.ts";
import { normaliseHost } from "./host-patterns.ts";
import { intercept } from "./intercept.ts";
import { dialForPeer, type PeerOwner } from "./peers.ts";
import {
  locateClient,
  openRelayLog,
  type Refusal,
  type RelayContext,
  type RelayTarget,
  recordTunnel,
  recordUnused,
  refuse,
} from "./relay-context.ts";
import { startTap } from "./tap.ts";
import type { TunnelReason } from "./tap-frames.ts";

/** The maximum size of a TLS ClientHello, in bytes. A longer first message is treated as not TLS. */
const maxHelloBytes = 65_536;

/** Creates the response to a failed dial. */
export function createDialRefusal(target: Authority, failed: DialResult & { ok: false }): Refusal {
  if (failed.reason === "upstream_unreachable") {
    return { status: 502, reason: failed.reason, text: `${target.host} can't be reached (${failed.code})` };
  }
  return { status: 403, reason: failed.reason, text: forbiddenTexts[failed.code as ForbiddenTarget] };
}

const publicOnly =
  "clients on other machines can reach only public addresses; to allow more, list them in [proxy] shared_targets";

const forbiddenTexts: Readonly<Record<ForbiddenTarget, string>> = {
  own_port: "the target is one of meter's own ports",
  metadata: "meter does not connect to metadata services",
  link_local: "meter does not connect to link-local addresses",
  unspecified: "meter does not connect to the unspecified address",
  loopback: publicOnly,
  private: publicOnly,
};

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
  const provider = context.isProviderHost(authority.host, authority.port);
  if (provider)
    context.log.note({ kind: "calling", connection: 0, clientPort: target.clientPort, proxyUser });
  const onDialled = (dialled: DialResult, owner: PeerOwner) => {
    client.off("close", onGone);
    if (!dialled.ok) {
      if (provider && owner !== "other" && dialled.reason === "upstream_unreachable") {
        openRelayLog(context, "intercepted", target, () => {}).closed(dialled.reason, dialled.code);
      }
      return refuse(context, client, createDialRefusal(authority, dialled));
    }
    client.write("HTTP/1.1 200 Connection Established\r\n\r\n");
    if (rest.length > 0) client.unshift(rest);
    if (!provider) tunnel(context, client, dialled, target, "not_provider");
    else if (owner === "other") tunnel(context, client, dialled, target, "other_user");
    else if (context.isPlainHost(authority.host, authority.port)) tapPlain(context, client, dialled, target);
    else inspectClientHello(context, client, dialled, target);
  };
  // Only connections to a provider depend on the client's user.
  const cancel = provider
    ? dialForPeer(context, client, authority, "tunnel", onDialled)
    : context.dial(authority, "tunnel", locateClient(client), (dialled) => onDialled(dialled, "unknown"));
  const onGone = () => cancel();
  client.once("close", onGone);
}

type DialledUpstream = DialResult & { ok: true };

function tunnel(
  context: RelayContext,
  client: Socket,
  upstream: DialledUpstream,
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
  upstream: DialledUpstream,
  target: RelayTarget,
): void {
  let close = (): void => {
    client.end();
  };
  const relayLog = openRelayLog(context, "absolute", target, () => close());
  close = startTap({ client, upstream: upstream.socket, relayLog, lingerMs: context.limits.lingerMs });
}

/**
 * Waits for the client's first message, puts it back, and intercepts or tunnels the connection. A client that sends nothing
 * in time is closed and not tunnelled: otherwise waiting would be a way around metering. A connection that either side
 * closes before the hello is complete was not used, whatever the client would have sent.
 */
function inspectClientHello(
  context: RelayContext,
  client: Socket,
  upstream: DialledUpstream,
  target: RelayTarget,
): void {
  let seen: Buffer = Buffer.alloc(0);
  context.silent.add(client);
  const stop = () => {
    context.silent.delete(client);
    clearTimeout(timer);
    client.off("data", onData);
    client.off("end", onEnd);
    client.off("close", onGone);
    upstream.socket.off("close", onGone);
    client.pause();
  };
  const endUnused = (endSocket: (socket: Socket) => void) => {
    stop();
    recordUnused(context, target);
    endSocket(client);
    endSocket(upstream.socket);
  };
  const onEnd = () => endUnused(closeSocket);
  const onGone = () => endUnused(resetSocket);
  const decide = (reason: TunnelReason | null) => {
    stop();
    if (seen.length > 0) client.unshift(seen);
    const leaf = reason === null ? context.leaves.find(normaliseHost(target.host)) : null;
    if (leaf !== null) intercept(context, client, upstream, target, leaf);
    else tunnel(context, client, upstream, target, reason ?? "no_certificate");
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
  upstream.socket.once("close", onGone);
  if (client.destroyed || upstream.socket.destroyed) onGone();
  else client.resume();
}

function isServerNameOf(serverName: string | null, host: string): boolean {
  if (serverName === null) return isIP(host) !== 0; // RFC 6066, section 3: addresses are not sent
  return normaliseHost(serverName) === normaliseHost(host);
}
