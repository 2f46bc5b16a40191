import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";

/** A reverse proxy that sends each request to the next server. */
export interface RoundRobinProxy {
  readonly url: string;
  /** The servers, which a test may change. */
  targets: readonly string[];
  /** How many requests each server got. */
  readonly counts: ReadonlyMap<string, number>;
  close(): Promise<void>;
}

/** Starts a proxy. It answers 502 if a server does not answer. A test's own `x-forwarded-for` is kept, as that of a client. */
export async function startProxy(targets: readonly string[] = []): Promise<RoundRobinProxy> {
  const counts = new Map<string, number>();
  let next = 0;
  const server = createServer((incoming, outgoing) => {
    const target = proxy.targets[next % proxy.targets.length] ?? "";
    next += 1;
    counts.set(target, (counts.get(target) ?? 0) + 1);
    const address = incoming.headers["x-forwarded-for"] ?? incoming.socket.remoteAddress ?? "";
    const headers = { ...incoming.headers, "x-forwarded-for": address };
    const upstream = request(`${target}${incoming.url}`, { method: incoming.method, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
    });
    upstream.on("error", () => {
      if (!outgoing.headersSent) outgoing.writeHead(502);
      outgoing.end();
    });
    incoming.pipe(upstream);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const proxy: RoundRobinProxy = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    targets,
    counts,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  return proxy;
}
