import type { Socket } from "node:net";
import { type SecureContext, TLSSocket } from "node:tls";
import { closeSocket, registerTlsStream, resetSocket } from "./close-socket.ts";
import type { DialResult } from "./dial.ts";
import { openRelayLog, type RelayContext, type RelayLog, type RelayTarget, refuse } from "./relay-context.ts";
import { startTap } from "./tap.ts";
import type { TlsResult } from "./upstream-tls.ts";

/**
 * Intercepts a TLS connection: terminates the client's TLS with the leaf certificate, starts TLS with the upstream at the
 * same time, and taps the bytes between them. Nothing is read from the client until the upstream is verified, so an
 * upstream that can't be verified receives no part of the request.
 */
export function intercept(
  context: RelayContext,
  client: Socket,
  dialled: DialResult & { ok: true },
  target: RelayTarget,
  leaf: SecureContext,
): void {
  if (client.destroyed) return closeSocket(dialled.socket);
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
    resetSocket(dialled.socket);
  };
  const onError = (error: NodeJS.ErrnoException) => onGone(error.code ?? null);
  const onClose = () => onGone(null);
  const timer = setTimeout(() => onGone("TLS_HANDSHAKE_TIMEOUT"), context.limits.handshakeTimeoutMs);
  server.on("error", onError);
  server.on("_tlsError", onError);
  server.on("close", onClose);
  server.once("secure", () => clearTimeout(timer));

  context.upstreamTls.secure(dialled.socket, target.host, target.port, (secured) => {
    if (gone) {
      if (secured.ok) closeSocket(secured.socket);
      return;
    }
    if (!secured.ok) {
      server.off("close", onClose);
      server.on("close", () => clearTimeout(timer));
      return refuseInside(context, server, relayLog, target, secured);
    }
    // From here on the tap handles a failed client handshake. The timer still limits its duration.
    server.off("error", onError);
    server.off("_tlsError", onError);
    server.off("close", onClose);
    server.once("close", () => clearTimeout(timer));
    close = startTap({
      client: server,
      upstream: secured.socket,
      relayLog,
      lingerMs: context.limits.lingerMs,
    });
  });
}

/** Answers the client's request with 502, because the upstream can't be trusted. The request is only logged. */
function refuseInside(
  context: RelayContext,
  server: TLSSocket,
  relayLog: RelayLog,
  target: RelayTarget,
  failed: TlsResult & { ok: false },
): void {
  const closed = () => relayLog.closed(failed.reason, failed.code);
  server.once("close", closed);
  server.once("end", () => server.end());
  const timer = setTimeout(() => closeSocket(server), context.limits.handshakeTimeoutMs);
  server.once("close", () => clearTimeout(timer));
  server.on("data", (bytes: Buffer) => relayLog.log.data(relayLog.entry, "request", bytes));
  server.once("data", () => {
    const text = `no trusted TLS connection to ${target.host} (${failed.code})`;
    refuse(context, server, { status: 502, reason: "upstream_tls", text });
    server.on("data", (bytes: Buffer) => relayLog.log.data(relayLog.entry, "request", bytes));
  });
  if (server.destroyed) closed();
}
