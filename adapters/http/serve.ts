import { createServer as createHttpServer, type Server as HttpServer, type ServerOptions } from "node:http";
import { createServer as createHttpsServer, type Server as HttpsServer } from "node:https";
import type { AddressInfo } from "node:net";
import { createAdaptorServer, type HttpBindings } from "@hono/node-server";

/** A listening HTTP server. */
export interface Served {
  readonly port: number;
  /** Stops accepting connections, lets responses in flight finish until the deadline, then closes them. */
  close(deadlineMs: number): Promise<void>;
}

/** The peer of the connection of a request. */
export interface Peer {
  /** The address without a port, in IPv4 form if it is one; null if the connection is closed. */
  readonly address: string | null;
  readonly port: number | null;
  /** The address that it connected to, in the same form; not given if the connection is closed. */
  readonly localAddress?: string;
  /** The same object for all requests of one connection. */
  readonly connection: object;
}

/** Limits per client. Times are in milliseconds. */
export interface ServeLimits {
  /** For the request line and headers, from the first byte of the connection. */
  readonly headersTimeoutMs: number;
  /** For the whole request including its body. The time until the response does not count. */
  readonly requestTimeoutMs: number;
  /**
   * How long an idle connection stays open. It must be longer than in a proxy in front of this server; otherwise requests
   * are lost between the two.
   */
  readonly keepAliveMs: number;
  /** Maximum number of connections. Further connections are closed immediately. */
  readonly maxConnections: number;
}

/** The default limits. */
const SERVE_LIMITS: ServeLimits = {
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 120_000,
  keepAliveMs: 65_000,
  maxConnections: 10_000,
};

/** Options besides the address. */
export interface ServeOptions {
  /** PEM. Default: plain HTTP. */
  readonly tls?: { readonly cert: string; readonly key: string };
  readonly limits?: Partial<ServeLimits>;
}

/** Serves a fetch handler on one address. Port 0 takes a free port. Rejects if the address or the certificate is invalid. */
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
      const { remoteAddress, remotePort, localAddress } = incoming.socket;
      const answer = await fetch(request, {
        address: remoteAddress === undefined ? null : plainAddress(remoteAddress),
        port: remotePort ?? null,
        ...(localAddress !== undefined && { localAddress: plainAddress(localAddress) }),
        connection: incoming.socket,
      });
      // Otherwise, a client that keeps its connection busy would be disconnected at the deadline in the middle of a
      // request.
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
    // How often Node checks the two limits above.
    connectionsCheckingInterval: Math.min(5_000, Math.ceil(limits.headersTimeoutMs / 2)),
  };
  if (tls === undefined) return { createServer: createHttpServer, serverOptions };
  return {
    createServer: createHttpsServer,
    serverOptions: { ...serverOptions, ...tls, minVersion: "TLSv1.2" },
  };
}

/** Whether a request has more than one `Host`. Node uses the first, but RFC 9112, section 3.2, requires a rejection. */
function hasSeveralHosts(rawHeaders: readonly string[]): boolean {
  return rawHeaders.filter((name, index) => index % 2 === 0 && name.toLowerCase() === "host").length > 1;
}

/** Converts `::ffff:127.0.0.1`, as a socket that listens on both families reports an IPv4 address. */
function plainAddress(address: string): string {
  return address.replace(/^::ffff:(?=\d+\.)/i, "");
}
