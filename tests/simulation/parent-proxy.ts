import { createServer, request as forward, type IncomingMessage, type ServerResponse } from "node:http";
import { connect, type Socket } from "node:net";
import { listen, type ProviderSimulation } from "./provider-simulation.ts";

export interface ParentProxyOptions {
  /** `user:password` that clients must send; none by default. */
  credentials?: string;
  /** Ports on loopback for other names, such as `{ "example.test:443": 40001 }`. */
  others?: Readonly<Record<string, number>>;
}

export interface ParentProxy {
  port: number;
  url: string;
  /** The requested targets, such as `CONNECT api.openai.com:443` or `GET http://example.test/`. */
  asked: string[];
  close(): Promise<void>;
}

/**
 * Starts a plain forward proxy on loopback that connects the provider hosts to the simulation. A program under test
 * uses it like a company's proxy.
 */
export async function createParentProxy(
  simulation: Pick<ProviderSimulation, "hosts" | "port" | "plainPort">,
  options: ParentProxyOptions = {},
): Promise<ParentProxy> {
  const asked: string[] = [];
  const sockets = new Set<Socket>();
  const expected =
    options.credentials === undefined ? null : `Basic ${Buffer.from(options.credentials).toString("base64")}`;

  function findPort(authority: string): number | null {
    const [host = "", port] = authority.toLowerCase().split(":");
    if (simulation.hosts.includes(host)) return port === "443" ? simulation.port : simulation.plainPort;
    if (Number(port) === simulation.plainPort) return simulation.plainPort;
    return options.others?.[`${host}:${port}`] ?? null;
  }

  function track(socket: Socket): void {
    sockets.add(socket);
    socket.on("error", () => socket.destroy());
    socket.on("close", () => sockets.delete(socket));
  }

  const server = createServer((request: IncomingMessage, response: ServerResponse) => {
    asked.push(`${request.method} ${request.url}`);
    const url = URL.canParse(request.url ?? "") ? new URL(request.url!) : null;
    if (expected !== null && request.headers["proxy-authorization"] !== expected) {
      response.writeHead(407, { "Proxy-Authenticate": 'Basic realm="parent"' }).end();
      return;
    }
    const port = url === null ? null : findPort(`${url.hostname}:${url.port || "80"}`);
    if (url === null || port === null) {
      response.writeHead(502).end("no such host here\n");
      return;
    }
    const headers = Object.fromEntries(
      Object.entries(request.headers).filter(([name]) => !name.startsWith("proxy-")),
    );
    const upstream = forward(
      {
        host: "127.0.0.1",
        port,
        method: request.method,
        path: url.pathname + url.search,
        headers: { ...headers, host: url.host },
      },
      (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.rawHeaders);
        answer.pipe(response);
      },
    );
    upstream.on("error", () => response.destroy());
    request.pipe(upstream);
  });

  server.on("connect", (request: IncomingMessage, client: Socket, head: Buffer) => {
    asked.push(`CONNECT ${request.url}`);
    if (expected !== null && request.headers["proxy-authorization"] !== expected) {
      client.end(
        'HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic realm="parent"\r\nContent-Length: 0\r\n\r\n',
      );
      return;
    }
    const port = findPort(request.url ?? "");
    if (port === null) {
      client.end("HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n");
      return;
    }
    const upstream = connect({ port, host: "127.0.0.1", allowHalfOpen: true, noDelay: true });
    track(upstream);
    upstream.on("connect", () => {
      client.write("HTTP/1.1 200 Connection established\r\n\r\n");
      if (head.length > 0) upstream.write(head);
      relay(client, upstream);
    });
    // A reset is relayed as a reset, so that a failure on one side looks the same on the other.
    client.on("close", (hadError) => (hadError ? upstream.resetAndDestroy() : upstream.destroy()));
    upstream.on("close", (hadError) => {
      if (hadError) client.resetAndDestroy();
      else client.destroySoon();
    });
  });
  server.on("connection", track);

  function relay(client: Socket, upstream: Socket): void {
    client.setNoDelay(true);
    client.pipe(upstream);
    upstream.pipe(client);
  }

  const port = await listen(server);
  return {
    port,
    url: `http://127.0.0.1:${port}`,
    asked,
    async close() {
      for (const socket of sockets) socket.destroy();
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
}
