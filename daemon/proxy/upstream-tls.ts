import { isIP, type Socket } from "node:net";
import { connect, createSecureContext, type SecureContext, type TLSSocket } from "node:tls";
import { formatAuthority } from "./authority.ts";
import { closeSocket, registerTlsStream } from "./close-socket.ts";
import { normaliseHost } from "./host-patterns.ts";

/** The result of a TLS handshake with an upstream. On failure, none of the client's bytes were sent. */
export type TlsResult =
  | { readonly ok: true; readonly socket: TLSSocket }
  | { readonly ok: false; readonly reason: "upstream_tls" | "upstream_timeout"; readonly code: string };

/** TLS with upstreams: always verified, HTTP/1.1 only, sessions resumed. */
export interface UpstreamTls {
  readonly secureContext: SecureContext;
  /** Starts TLS on a connected socket. Calls `done` once, asynchronously. */
  secure(socket: Socket, host: string, port: number, done: (secured: TlsResult) => void): void;
}

/** Maximum number of upstreams whose sessions are stored; the oldest is removed first. */
const maxSessions = 256;

/** Creates TLS for upstreams that trusts the given root certificates. */
export function createUpstreamTls(roots: readonly string[], timeoutMs: number): UpstreamTls {
  const secureContext = createSecureContext({ ca: [...roots], minVersion: "TLSv1.2" });
  const sessions = new Map<string, Buffer>();
  return {
    secureContext,
    secure(transport, hostAsGiven, port, done) {
      if (transport.destroyed) {
        const code = "ECONNRESET";
        process.nextTick(() => done({ ok: false, reason: "upstream_tls", code }));
        return;
      }
      const host = normaliseHost(hostAsGiven);
      const key = formatAuthority({ host, port });
      const session = sessions.get(key);
      let settled = false;
      const socket = connect({
        socket: transport,
        secureContext,
        // Explicit, so that NODE_TLS_REJECT_UNAUTHORIZED has no effect.
        rejectUnauthorized: true,
        ALPNProtocols: ["http/1.1"],
        ...(isIP(host) === 0 ? { servername: host } : { host }),
        ...(session && { session }),
      });
      registerTlsStream(transport, socket);
      const settle = (secured: TlsResult) => {
        if (settled) return;
        settled = true;
        clearTimeout(timer);
        if (!secured.ok) {
          sessions.delete(key);
          closeSocket(socket);
        }
        done(secured);
      };
      const timer = setTimeout(() => {
        settle({ ok: false, reason: "upstream_timeout", code: "TLS_HANDSHAKE_TIMEOUT" });
      }, timeoutMs);
      socket.on("error", (error: NodeJS.ErrnoException) => {
        settle({ ok: false, reason: "upstream_tls", code: error.code ?? "TLS_ERROR" });
      });
      socket.once("close", () => settle({ ok: false, reason: "upstream_tls", code: "ECONNRESET" }));
      socket.on("session", (fresh: Buffer) => {
        if (!socket.authorized) return;
        sessions.delete(key);
        sessions.set(key, fresh);
        if (sessions.size > maxSessions) sessions.delete(sessions.keys().next().value as string);
      });
      socket.once("secureConnect", () => settle({ ok: true, socket }));
    },
  };
}
