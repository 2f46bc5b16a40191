import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { TLSSocket } from "node:tls";
import type { Millis } from "../../core/values/time.ts";
import type { ProviderName } from "./answer.ts";
import { createResponder } from "./answer-request.ts";
import { createCertificateAuthority } from "./certificate-authority.ts";
import { type SharedState, type SimulatedConnection, serveConnection } from "./serve-connection.ts";
import type { OtherRequest, SimulatedCall } from "./simulated-call.ts";

/** The simulated TLS hosts. */
export const simulatedHosts: Readonly<Record<string, ProviderName>> = {
  "api.anthropic.com": "anthropic",
  "api.openai.com": "openai",
  "generativelanguage.googleapis.com": "gemini",
  "api.x.ai": "xai",
  "openrouter.ai": "openrouter",
};

export interface ProviderSimulationOptions {
  /** The same seed and request give the same numbers. */
  seed?: string;
  /** More hosts, such as an OpenAI-compatible one. */
  extraHosts?: Readonly<Record<string, ProviderName>>;
  now?: () => Millis;
  /** Delay before each response, in milliseconds. Defaults to 0. */
  responseDelayMs?: number;
  /** Whether to record the bytes of connections and bodies. Set to false for long runs. Defaults to true. */
  recordBytes?: boolean;
}

export interface ProviderSimulation {
  /** The TLS port of all providers, which are selected by the `Host` header. */
  port: number;
  /** The plain HTTP port: Ollama, unless `Host` names another provider. */
  plainPort: number;
  ollamaUrl: string;
  hosts: readonly string[];
  caPem: string;
  /** The path of a file with `caPem`. It is deleted by `close`. */
  caFile: string;
  /** Calls on paths with usage, in the order in which they ended. */
  calls: SimulatedCall[];
  /** All other requests to the providers' hosts. */
  otherRequests: OtherRequest[];
  /** The connections that were used, in the order of their first bytes. The proxy keeps others ready. */
  connections: SimulatedConnection[];
  /** Resolves when no response is in progress. */
  idle(): Promise<void>;
  close(): Promise<void>;
}

/**
 * Starts simulated providers on loopback with their real wire formats and their own certificate authority. A marker in the
 * prompt selects the scenario of a response (see `readScenario()`), and the seed determines its usage.
 */
export async function createProviderSimulation(
  options: ProviderSimulationOptions = {},
): Promise<ProviderSimulation> {
  const { seed = "meter", now = Date.now, responseDelayMs = 0, recordBytes = true } = options;
  const shared: SharedState = {
    seed,
    responseDelayMs,
    recordBytes,
    providers: { ...simulatedHosts, ...options.extraHosts },
    answerRequest: createResponder(seed, now),
    calls: [],
    otherRequests: [],
    connections: [],
    pendingResponses: new Set(),
    nextOrdinal: 0,
  };
  const authority = await createCertificateAuthority();
  const sockets = new Set<Socket>();
  const servers = [await createTlsServer(shared, authority, sockets), createPlainServer(shared, sockets)];
  const [port, plainPort] = (await Promise.all(servers.map(listen))) as [number, number];
  const folder = mkdtempSync(join(tmpdir(), "simulated-ca-"));
  const caFile = join(folder, "ca.pem");
  writeFileSync(caFile, authority.certificatePem);
  const { calls, otherRequests, connections, pendingResponses, providers } = shared;
  return {
    port,
    plainPort,
    ollamaUrl: `http://127.0.0.1:${plainPort}`,
    hosts: Object.keys(providers),
    caPem: authority.certificatePem,
    caFile,
    calls,
    otherRequests,
    connections,
    async idle() {
      while (pendingResponses.size > 0) await Promise.allSettled(pendingResponses);
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      await Promise.all(servers.map((server) => new Promise((done) => server.close(done))));
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function createTlsServer(
  shared: SharedState,
  authority: Awaited<ReturnType<typeof createCertificateAuthority>>,
  sockets: Set<Socket>,
): Promise<Server> {
  const defaultContext = await authority.secureContext("localhost");
  return createServer({ allowHalfOpen: true }, (lower) => {
    track(sockets, lower);
    const socket = new TLSSocket(lower, {
      isServer: true,
      secureContext: defaultContext,
      ALPNProtocols: ["http/1.1"],
      SNICallback(serverName, done) {
        authority.secureContext(serverName.toLowerCase()).then(
          (context) => done(null, context),
          (error: Error) => done(error),
        );
      },
    });
    serveConnection(shared, socket, lower, () =>
      typeof socket.servername === "string" ? socket.servername : "",
    );
  });
}

const createPlainServer = (shared: SharedState, sockets: Set<Socket>): Server =>
  createServer({ allowHalfOpen: true }, (lower) => {
    track(sockets, lower);
    serveConnection(shared, lower, lower, () => null);
  });

function track(sockets: Set<Socket>, socket: Socket): void {
  sockets.add(socket);
  socket.setNoDelay(true);
  socket.on("error", () => socket.destroy());
  socket.on("close", () => sockets.delete(socket));
}

/** Listens on a free loopback port. */
export function listen(server: Server): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => resolve((server.address() as AddressInfo).port));
  });
}
