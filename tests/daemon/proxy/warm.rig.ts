import type { Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import type { CertificatePair } from "../../../core/ports/certificates.ts";
import type { WarmCounters } from "../../../daemon/proxy/counters.ts";
import {
  collect,
  type createCleanup,
  listenTls,
  providerLeaf,
  type TestProxy,
  tlsThrough,
} from "./proxy.rig.ts";

export const answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

/** A connection that a provider accepted, and what came on it. */
export interface Accepted {
  readonly socket: TLSSocket;
  received: string;
}

/** A provider that answers every request whose end is `end`, with its connections in the order of their handshakes. */
export interface Provider {
  readonly port: number;
  readonly accepted: readonly Accepted[];
  /** The connections that nothing came on. */
  unused(): readonly Accepted[];
}

/** Starts a provider. `onRequest` runs before it answers, and answers itself if it returns true. */
export async function openProvider(
  cleanup: ReturnType<typeof createCleanup>,
  onRequest: (connection: Accepted) => boolean | undefined = () => false,
  leaf: CertificatePair = providerLeaf,
  options: object = {},
): Promise<Provider> {
  const accepted: Accepted[] = [];
  const serve = (socket: TLSSocket) => {
    const connection: Accepted = { socket, received: "" };
    accepted.push(connection);
    socket.on("data", (bytes: Buffer) => {
      connection.received += bytes.toString("latin1");
      if (!connection.received.endsWith("end")) return;
      if (onRequest(connection) !== true) socket.write(answer);
    });
    socket.on("end", () => socket.end());
  };
  const port = await listenTls(cleanup, serve, leaf, options);
  return { port, accepted, unused: () => accepted.filter(({ received }) => received === "") };
}

/** Makes one call on a connection of its own, and returns the response, or what came of it. */
export async function callAnew(proxy: TestProxy, port: number, body = ""): Promise<string> {
  const client = await tlsThrough(proxy.port, port);
  const got = collect(client);
  client.write(`POST /v1/messages HTTP/1.1\r\nHost: localhost\r\n\r\n${body}end`);
  await got.until((bytes) => bytes.toString().endsWith("ok"));
  client.end();
  await got.end();
  return got.bytes().toString();
}

/** The counters of the warm connections, up to date. */
export async function warmCounters(proxy: TestProxy): Promise<WarmCounters> {
  await proxy.ping(5_000);
  return proxy.counters().warm;
}

/** Waits until the counters are as wanted. */
export async function untilWarm(
  proxy: TestProxy,
  isReached: (counters: WarmCounters) => boolean,
): Promise<WarmCounters> {
  for (;;) {
    const counters = await warmCounters(proxy);
    if (isReached(counters)) return counters;
  }
}

/** Waits until a socket is closed, in any way. */
export async function closed(socket: Socket | undefined): Promise<void> {
  if (socket === undefined) throw new Error("no such connection");
  if (!socket.destroyed) await new Promise((resolve) => socket.once("close", resolve));
}
