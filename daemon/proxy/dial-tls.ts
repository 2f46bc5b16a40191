import type { Authority } from "./authority.ts";
import { closeSocket } from "./close-socket.ts";
import type { ClientLocation, Dial, DialResult } from "./dial.ts";
import type { TlsResult, UpstreamTls } from "./upstream-tls.ts";

/** The result of a dial and the TLS handshake after it. */
export type DialTlsResult = TlsResult | (DialResult & { readonly ok: false });

/** Dials a target and starts TLS. Calls `done` once, asynchronously. The returned function cancels both. */
export function dialTls(
  { dial, upstreamTls }: { readonly dial: Dial; readonly upstreamTls: UpstreamTls },
  target: Authority,
  client: ClientLocation,
  done: (opened: DialTlsResult) => void,
): () => void {
  let isCancelled = false;
  let cancel = dial(target, "tunnel", client, (dialled) => {
    if (!dialled.ok) return done(dialled);
    cancel = () => {
      isCancelled = true;
      closeSocket(dialled.socket);
    };
    upstreamTls.secure(dialled.socket, target.host, target.port, (secured) => {
      if (!isCancelled) done(secured);
    });
  });
  return () => cancel();
}
