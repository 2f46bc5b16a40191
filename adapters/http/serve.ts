import { createServer as createHttpServer, type Server as HttpServer, type ServerOptions } from "node:http";
import { createServer as createHttpsServer, type Server as HttpsServer } from "node:https";
import type { AddressInfo } from "node:net";
import { createAdaptorServer, type HttpBindings } from "@hono/node-server";

/** A listening HTTP server. */
export interface Served {
  readonly port: number;
  /** Stops accepting, lets answers in flight finish until the deadline, then cuts them. */
  close(deadlineMs: number): Promise<void>;
}

/** Who is at the other end of the connection that a request came by. */
export interface Peer {
  /** The address without a port, an IPv4 one as such; null where the connection is gone. */
  readonly address: string | null;
  readonly port: number | null;
  /** The same object for all requests of one connection. */
  readonly connection: object;
}

/** What a client may take of the server. Milliseconds. */
export interface ServeLimits {
  /** For the request line and the headers, from the connection's first byte. */
  readonly headersTimeoutMs: number;
  /** For the whole request, body included. Waiting for the answer does not count. */
  readonly requestTimeoutMs: number;
  /** How long an idle connection is kept. More than a proxy before it keeps its own, or requests are lost in between. */
  readonly keepAliveMs: number;
  /** Connections at once; one more is closed at once. */
  readonly maxConnections: number;
}

/** What goes where nothing is set. */
export const SERVE_LIMITS: ServeLimits = {
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 120_000,
  keepAliveMs: 65_000,
  maxConnections: 10_000,
};

/** How to serve beyond the address. */
export interface ServeOptions {
  /** PEM; plain HTTP where absent. */
  readonly tls?: { readonly cert: string; readonly key: string };
  readonly limits?: Partial<ServeLimits>;
}

/** Serves a fetch handler on one address. Port 0 takes a free one. Rejects when the address or the certificate is no good. */
export async function serve(
  fetch: (request: Request, peer: Peer) => Response | Promise<Response>,
  address: { host: string; port: number },
  options: ServeOptions = {},
): Promise<Served> {
  const limits = { ...SERVE_LIMITS, ...options.limits };
  let closing = false;
  const server = createAdaptorServer({
    fetch: async (request, env) => {
      const { incoming } = env as HttpBindings;
      if (hasSeveralHosts(incoming.rawHeaders)) return new Response(null, { status: 400 });
      const answer = await fetch(request, {
        address: plainAddress(incoming.socket.remoteAddress),
        port: incoming.socket.remotePort ?? null,
        connection: incoming.socket,
      });
      // Else a client that keeps its connection busy is cut at the deadline, in the middle of a request.
      if (closing) answer.headers.set("connection", "close");
      return answer;
    },
    ...serverOptions(limits, options.tls),
  }) as HttpServer | HttpsServer;
  server.maxConnections = limits.maxConnections;
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(address.port, address.host, () => {
      server.off("error", reject);
      resolve();
    });
  });
  return {
    port: (server.address() as AddressInfo).port,
    close: (deadlineMs) =>
      new Promise((resolve) => {
        closing = true;
        const cut = setTimeout(() => server.closeAllConnections(), deadlineMs);
        server.close(() => {
          clearTimeout(cut);
          resolve();
        });
        server.closeIdleConnections();
      }),
  };
}

function serverOptions(limits: ServeLimits, tls: ServeOptions["tls"]): Record<string, unknown> {
  const serverOptions: ServerOptions = {
    headersTimeout: limits.headersTimeoutMs,
    requestTimeout: limits.requestTimeoutMs,
    keepAliveTimeout: limits.keepAliveMs,
    // Node looks for the two above this often.
    connectionsCheckingInterval: Math.min(5_000, Math.ceil(limits.headersTimeoutMs / 2)),
  };
  if (tls === undefined) return { createServer: createHttpServer, serverOptions };
  return {
    createServer: createHttpsServer,
    serverOptions: { ...serverOptions, ...tls, minVersion: "TLSv1.2" },
  };
}

/** Node keeps the first `Host` and drops the others; RFC 9112, section 3.2, has such a request refused. */
function hasSeveralHosts(rawHeaders: readonly string[]): boolean {
  return rawHeaders.filter((name, index) => index % 2 === 0 && name.toLowerCase() === "host").length > 1;
}

/** A socket that listens on both families says `::ffff:127.0.0.1`. */
function plainAddress(address: string | undefined): string | null {
  return address === undefined ? null : address.replace(/^::ffff:(?=\d+\.)/i, "");
}
