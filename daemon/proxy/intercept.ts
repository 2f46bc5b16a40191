import type { Socket } from "node:net";
import { type SecureContext, TLSSocket } from "node:tls";
import type { Dialled } from "./dial.ts";
import { openRelayLog, type RelayContext, type RelayLog, type RelayTarget, refuse } from "./relay-context.ts";
import { reset, startTap } from "./tap.ts";
import type { Secured } from "./upstream-tls.ts";

/**
 * Ends the client's TLS with a certificate of our own and starts TLS with the upstream at the same time; once both
 * stand, bytes are tapped between them. Until the upstream is verified nothing is read from the client, so a failing
 * upstream gets none of the request.
 */
export function intercept(
  context: RelayContext,
  client: Socket,
  dialled: Dialled & { ok: true },
  target: RelayTarget,
  leaf: SecureContext,
): void {
  const server = new TLSSocket(client, { isServer: true, secureContext: leaf, ALPNProtocols: ["http/1.1"] });
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
    server.destroy();
    reset({ stream: dialled.socket, transport: dialled.transport });
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
      if (secured.ok) secured.socket.destroy();
      return;
    }
    if (!secured.ok) {
      server.off("close", onClose);
      server.on("close", () => clearTimeout(timer));
      return refuseInside(context, server, relayLog, target, secured);
    }
    // From here a failing client handshake is the tap's to handle; the timer still bounds it.
    server.off("error", onError);
    server.off("_tlsError", onError);
    server.off("close", onClose);
    server.once("close", () => clearTimeout(timer));
    close = startTap({
      client: { stream: server, transport: client },
      upstream: { stream: secured.socket, transport: dialled.transport },
      relayLog,
      lingerMs: context.limits.lingerMs,
    });
  });
}

/** Waits for the client's request, which goes to the log alone, and answers that the upstream can't be trusted. */
function refuseInside(
  context: RelayContext,
  server: TLSSocket,
  relayLog: RelayLog,
  target: RelayTarget,
  failed: Secured & { ok: false },
): void {
  const closed = () => relayLog.closed(failed.reason, failed.code);
  server.once("close", closed);
  server.once("end", () => server.end());
  const timer = setTimeout(() => server.destroy(), context.limits.handshakeTimeoutMs);
  server.once("close", () => clearTimeout(timer));
  server.on("data", (bytes: Buffer) => relayLog.log.data(relayLog.entry, "request", bytes));
  server.once("data", () => {
    const text = `no trusted TLS connection to ${target.host} (${failed.code})`;
    refuse(context, server, { status: 502, reason: "upstream_tls", text });
    server.on("data", (bytes: Buffer) => relayLog.log.data(relayLog.entry, "request", bytes));
  });
  if (server.destroyed) closed();
}
