import { isIP, type Socket } from "node:net";
import { headerValue, type RequestHead, readClientHello } from "../../core/exchange/mod.ts";
import { type Authority, parseAuthority } from "./authority.ts";
import type { Dialled } from "./dial.ts";
import { normaliseHost } from "./host-patterns.ts";
import { intercept } from "./intercept.ts";
import {
  noteTunnel,
  openRelayLog,
  type Refusal,
  type RelayContext,
  type RelayTarget,
  refuse,
} from "./relay-context.ts";
import { startTap } from "./tap.ts";
import type { TunnelReason } from "./tap-frames.ts";

/** The most that is read before the client's first message is given up as unreadable. */
const maxHelloBytes = 65_536;

/** The answer to a target that dialling refused or could not reach. */
export function dialRefusal(target: Authority, failed: Dialled & { ok: false }): Refusal {
  if (failed.reason === "upstream_unreachable") {
    return { status: 502, reason: failed.reason, text: `${target.host} can't be reached (${failed.code})` };
  }
  const text =
    failed.code === "own_port"
      ? "the target is one of the meter's own ports"
      : "link-local and unspecified addresses are not reached through the meter";
  return { status: 403, reason: failed.reason, text };
}

/**
 * Serves a CONNECT: connects to the target first, then answers, then looks at what the client says. TLS for a
 * provider's host that HTTP/1.1 can be spoken in is intercepted; all else is passed on unread.
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
  const cancel = context.dial(authority, "tunnel", (dialled) => {
    client.off("close", onGone);
    if (!dialled.ok) {
      if (provider && dialled.reason === "upstream_unreachable") {
        openRelayLog(context, "intercepted", target, () => {}).closed(dialled.reason, dialled.code);
      }
      return refuse(context, client, dialRefusal(authority, dialled));
    }
    client.write("HTTP/1.1 200 Connection Established\r\n\r\n");
    if (rest.length > 0) client.unshift(rest);
    if (provider) peek(context, client, dialled, target);
    else tunnel(context, client, dialled, target, "not_provider");
  });
  const onGone = () => cancel();
  client.once("close", onGone);
}

type Connected = Dialled & { ok: true };

function tunnel(
  context: RelayContext,
  client: Socket,
  upstream: Connected,
  target: RelayTarget,
  reason: TunnelReason,
): void {
  noteTunnel(context, target, reason);
  startTap({
    client: { stream: client, transport: client },
    upstream: { stream: upstream.socket, transport: upstream.transport },
    relayLog: null,
    lingerMs: context.limits.lingerMs,
  });
}

/** Waits for the client's first message, puts it back and decides. */
function peek(context: RelayContext, client: Socket, upstream: Connected, target: RelayTarget): void {
  let seen: Buffer = Buffer.alloc(0);
  const decide = (reason: TunnelReason | null) => {
    clearTimeout(timer);
    client.off("data", onData);
    client.off("end", onEnd);
    client.off("close", onGone);
    upstream.socket.off("close", onGone);
    client.pause();
    if (client.readableEnded) upstream.socket.write(seen);
    else if (seen.length > 0) client.unshift(seen);
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
    else if (!namesHost(hello.serverName, target.host)) decide("sni_mismatch");
    else decide(hello.alpn.length === 0 || hello.alpn.includes("http/1.1") ? null : "http2_only");
  };
  const onEnd = () => decide("not_tls");
  const onGone = () => decide("not_tls");
  const timer = setTimeout(() => decide("not_tls"), context.limits.helloTimeoutMs);
  client.on("data", onData);
  client.once("end", onEnd);
  client.once("close", onGone);
  upstream.socket.once("close", onGone);
  if (client.destroyed || upstream.socket.destroyed) onGone();
  else client.resume();
}

function namesHost(serverName: string | null, host: string): boolean {
  if (serverName === null) return isIP(host) !== 0; // RFC 6066, section 3: addresses are not sent
  return normaliseHost(serverName) === normaliseHost(host);
}
