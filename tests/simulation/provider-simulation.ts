import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { TLSSocket } from "node:tls";
import type { Millis } from "../../core/values/time.ts";
import { noUsage, type ProviderName } from "./answer.ts";
import { createResponder, type PlainAnswer } from "./answer-request.ts";
import { createCertificateAuthority } from "./certificate-authority.ts";
import { createRequestParser, type ReceivedRequest, requestHeader } from "./request-parser.ts";
import { createSeededRandom } from "./seeded-random.ts";
import { type SendTarget, type SentAnswer, sendAnswer } from "./send-answer.ts";
import type { OtherRequest, SimulatedCall } from "./simulated-call.ts";
import { webSocketAccept } from "./web-socket-accept.ts";
import { holdSession, opensSession } from "./web-socket-session.ts";

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

/** A connection to the simulation, with the exact decrypted bytes of both directions. */
export interface SimulatedConnection {
  /** The server name in the TLS handshake; `null` on the plain port. */
  serverName: string | null;
  received: Buffer[];
  sent: Buffer[];
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
  const providers = { ...simulatedHosts, ...options.extraHosts };
  const authority = await createCertificateAuthority();
  const answerRequest = createResponder(seed, now);
  const calls: SimulatedCall[] = [];
  const otherRequests: OtherRequest[] = [];
  const connections: SimulatedConnection[] = [];
  const sockets = new Set<Socket>();
  const pendingResponses = new Set<Promise<void>>();
  let ordinal = 0;

  function serve(socket: Socket, lower: Socket, serverName: () => string | null): void {
    let index = -1;
    const connection: SimulatedConnection = { serverName: null, received: [], sent: [] };
    let queue: Promise<void> = Promise.resolve();
    let upgraded: "echo" | "session" | null = null;
    let closing = false;

    const target: SendTarget = {
      socket,
      destroy(reset) {
        if (reset) lower.resetAndDestroy();
        else lower.destroy();
      },
      write(bytes) {
        if (socket.destroyed || !socket.writable) return Promise.resolve(false);
        if (recordBytes) connection.sent.push(bytes);
        return new Promise((resolve) => socket.write(bytes, (error) => resolve(error == null)));
      },
    };

    async function answer(request: ReceivedRequest): Promise<void> {
      if (closing) return;
      const host = (requestHeader(request, "host") ?? "").toLowerCase().replace(/:\d+$/, "");
      const provider = Object.hasOwn(providers, host)
        ? providers[host]!
        : serverName() === null
          ? "ollama"
          : null;
      if (provider === null) return sendPlain(request, host, misdirected(request.target));
      if (opensSession(request)) {
        upgraded = "session";
        return serveSession(request, provider, host);
      }
      const found = answerRequest(provider, request);
      if (found.kind === "plain") return sendPlain(request, host, found);
      const { answer: given, scenario } = found;
      const ownOrdinal = ordinal++;
      const silent = scenario.outcome === "silence";
      if (responseDelayMs > 0) await delay(responseDelayMs);
      const sent: SentAnswer = silent
        ? await waitForClientClose(socket)
        : await sendAnswer(
            target,
            given,
            { acceptEncoding: requestHeader(request, "accept-encoding") ?? "" },
            scenario,
            createSeededRandom(`${seed} sending ${ownOrdinal}`),
          );
      const nothing = Buffer.alloc(0);
      calls.push({
        ordinal: ownOrdinal,
        connection: index,
        provider,
        host,
        method: request.method,
        path: found.path,
        api: found.api,
        model: given.model,
        requestedModel: found.requestedModel,
        streaming: given.streaming,
        scenario,
        status: silent ? null : given.status,
        ...sent.stated,
        serviceTier: given.serviceTier,
        extras: given.extras,
        error: given.error,
        responseId: given.responseId,
        delivery: sent.delivery,
        requestHeaders: request.headers,
        requestBody: recordBytes ? request.body : nothing,
        contentEncoding: sent.contentEncoding,
        responsePlain: recordBytes ? sent.plain : nothing,
        responseEncoded: recordBytes ? sent.encoded : nothing,
      });
      if (sent.closes || wantsClose(request)) closeConnection();
    }

    function serveSession(request: ReceivedRequest, provider: ProviderName, host: string): void {
      const write = socket.write.bind(socket) as (...words: unknown[]) => boolean;
      socket.write = (bytes: Uint8Array | string, ...rest: unknown[]) => {
        if (recordBytes) connection.sent.push(Buffer.from(bytes as string));
        return write(bytes, ...rest);
      };
      holdSession(request, {
        socket,
        answer: (call) => answerRequest(provider, call),
        answered({ found, message, stated, delivery, sent }) {
          const { answer: given } = found;
          const failed = given.status >= 400;
          const told = Buffer.from(sent);
          calls.push({
            ordinal: ordinal++,
            connection: index,
            provider,
            host,
            method: request.method,
            path: found.path,
            api: found.api,
            model: failed ? null : given.model,
            requestedModel:
              found.requestedModel ??
              new URL(request.target, "http://simulation.invalid").searchParams.get("model"),
            streaming: true,
            scenario: found.scenario,
            status: 101,
            ...stated,
            serviceTier: given.serviceTier,
            extras: given.extras,
            error: given.error,
            responseId: given.responseId,
            delivery,
            requestHeaders: request.headers,
            requestBody: message,
            contentEncoding: null,
            responsePlain: told,
            responseEncoded: told,
          });
        },
      });
    }

    function closeConnection(): void {
      closing = true;
      if (!socket.destroyed) socket.end();
    }

    async function sendPlain(request: ReceivedRequest, host: string, plain: PlainAnswer): Promise<void> {
      const accept = webSocketAccept(request);
      if (accept !== null) {
        upgraded = "echo";
        otherRequests.push({
          connection: index,
          host,
          method: request.method,
          path: plain.path,
          status: 101,
        });
        await target.write(Buffer.from(accept));
        return;
      }
      otherRequests.push({
        connection: index,
        host,
        method: request.method,
        path: plain.path,
        status: plain.status,
      });
      const body = Buffer.from(plain.text);
      const head = `HTTP/1.1 ${plain.status} Simulated\r\nContent-Type: ${plain.contentType}\r\nContent-Length: ${body.length}\r\n\r\n`;
      await target.write(
        Buffer.concat([Buffer.from(head), request.method === "HEAD" ? Buffer.alloc(0) : body]),
      );
      if (wantsClose(request)) closeConnection();
    }

    function enqueue(work: () => Promise<void>): void {
      const done = queue.then(work).catch((error: unknown) => {
        // A bug in the simulation: report it, and break the client's connection.
        console.error("simulation:", error);
        socket.destroy();
      });
      queue = done;
      pendingResponses.add(done);
      done.finally(() => pendingResponses.delete(done));
    }

    const parser = createRequestParser({
      head(request) {
        if (requestHeader(request, "expect")?.toLowerCase() === "100-continue") {
          enqueue(async () => void (await target.write(Buffer.from("HTTP/1.1 100 Continue\r\n\r\n"))));
        }
      },
      request: (request) => enqueue(() => answer(request)),
      unreadable(reason) {
        enqueue(async () => {
          await target.write(
            Buffer.from(`HTTP/1.1 400 ${reason}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`),
          );
          socket.end();
        });
      },
    });
    socket.on("data", (bytes: Buffer) => {
      if (index === -1) index = connections.push(connection) - 1;
      connection.serverName ??= serverName();
      if (recordBytes) connection.received.push(bytes);
      // After an upgrade without a session, echo all bytes.
      if (upgraded === "echo") void target.write(bytes);
      else if (upgraded === null) parser.push(bytes);
    });
    socket.on("error", () => socket.destroy());
    socket.on("end", () => {
      const work = queue;
      void work.then(() => socket.end());
    });
  }

  function track(socket: Socket): void {
    sockets.add(socket);
    socket.setNoDelay(true);
    socket.on("error", () => socket.destroy());
    socket.on("close", () => sockets.delete(socket));
  }

  const defaultContext = await authority.secureContext("localhost");
  const tlsServer = createServer({ allowHalfOpen: true }, (lower) => {
    track(lower);
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
    serve(socket, lower, () => (typeof socket.servername === "string" ? socket.servername : ""));
  });
  const plainServer = createServer({ allowHalfOpen: true }, (lower) => {
    track(lower);
    serve(lower, lower, () => null);
  });
  const port = await listen(tlsServer);
  const plainPort = await listen(plainServer);
  const folder = mkdtempSync(join(tmpdir(), "simulated-ca-"));
  const caFile = join(folder, "ca.pem");
  writeFileSync(caFile, authority.certificatePem);

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
      await Promise.all([tlsServer, plainServer].map((server) => new Promise((done) => server.close(done))));
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function wantsClose(request: ReceivedRequest): boolean {
  return requestHeader(request, "connection")?.toLowerCase() === "close";
}

/** Sends nothing and waits until the client closes the connection. */
async function waitForClientClose(socket: Socket): Promise<SentAnswer> {
  if (!socket.destroyed) await new Promise((done) => socket.once("close", done).once("end", done));
  const nothing = Buffer.alloc(0);
  return {
    stated: noUsage,
    delivery: "client_gone",
    contentEncoding: null,
    plain: nothing,
    encoded: nothing,
    closes: true,
  };
}

function misdirected(path: string): PlainAnswer {
  return { kind: "plain", path, status: 421, contentType: "text/plain", text: "no such host here\n" };
}

/** Listens on a free loopback port. */
export function listen(server: Server): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => resolve((server.address() as AddressInfo).port));
  });
}
