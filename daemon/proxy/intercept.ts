import type { Socket } from "node:net";
import { type SecureContext, TLSSocket } from "node:tls";
import { closeSocket, registerTlsStream } from "./close-socket.ts";
import { createDialRefusal, createTlsRefusal } from "./dial-refusal.ts";
import type { DialTlsResult } from "./dial-tls.ts";
import { openRelayLog, type RelayContext, type RelayLog, type RelayTarget, refuse } from "./relay-context.ts";
import { startTap } from "./tap.ts";
import type { UpstreamSource } from "./upstream-source.ts";

/**
 * Intercepts a TLS connection: terminates the client's TLS with the leaf certificate, opens the upstream at the same time,
 * and taps the bytes between them. Nothing is sent before the upstream is verified, so an upstream that can't be verified
 * receives no part of the request.
 */
export function intercept(
  context: RelayContext,
  client: Socket,
  upstream: UpstreamSource,
  target: RelayTarget,
  leaf: SecureContext,
): void {
  if (client.destroyed) return upstream.abandon();
  const server = new TLSSocket(client, { isServer: true, secureContext: leaf, ALPNProtocols: ["http/1.1"] });
  registerTlsStream(client, server);
  let close = (): void => {
    server.end();
  };
  const relayLog = openRelayLog(context, "intercepted", target, () => close());
  let gone = false;

  const onGone = (code: string | null) => {
    if (gone) return;
    gone = true;
    clearTimeout(timer);
    relayLog.closed("client_aborted", code);
    closeSocket(server);
    upstream.abandon();
  };
  const onError = (error: NodeJS.ErrnoException) => onGone(error.code ?? null);
  const onClose = () => onGone(null);
  const timer = setTimeout(() => onGone("TLS_HANDSHAKE_TIMEOUT"), context.limits.handshakeTimeoutMs);
  server.on("error", onError);
  server.on("_tlsError", onError);
  server.on("close", onClose);
  server.once("secure", () => clearTimeout(timer));

  upstream.open(server, (opened) => {
    if (gone) {
      if (opened.ok) closeSocket(opened.socket);
      return;
    }
    if (!opened.ok) {
      server.off("close", onClose);
      server.on("close", () => clearTimeout(timer));
      return refuseInside(context, server, relayLog, target, opened);
    }
    // From here on the tap handles a failed client handshake. The timer still limits its duration.
    server.off("error", onError);
    server.off("_tlsError", onError);
    server.off("close", onClose);
    server.once("close", () => clearTimeout(timer));
    close = startTap({
      client: server,
      upstream: opened.socket,
      relayLog,
      lingerMs: context.limits.lingerMs,
      hold: { gate: context.gate, createInflater: context.createInflater, target },
    });
  });
}

/** Answers the client's request itself, because the upstream can't be reached or trusted. The request is only logged. */
function refuseInside(
  context: RelayContext,
  server: TLSSocket,
  relayLog: RelayLog,
  target: RelayTarget,
  failed: DialTlsResult & { ok: false },
): void {
  const { reason, code } = failed;
  const isDialFailure = reason === "forbidden_target" || reason === "upstream_unreachable";
  const refusal = isDialFailure
    ? createDialRefusal(target, { ok: false, reason, code })
    : createTlsRefusal(target, code);
  const closed = () => relayLog.closed(reason === "forbidden_target" ? "upstream_unreachable" : reason, code);
  server.once("close", closed);
  server.once("end", () => server.end());
  const timer = setTimeout(() => closeSocket(server), context.limits.handshakeTimeoutMs);
  server.once("close", () => clearTimeout(timer));
  server.on("data", (bytes: Buffer) => relayLog.log.data(relayLog.entry, "request", bytes));
  server.once("data", () => {
    refuse(context, server, refusal);
    server.on("data", (bytes: Buffer) => relayLog.log.data(relayLog.entry, "request", bytes));
  });
  if (server.destroyed) closed();
  else server.resume();
}
