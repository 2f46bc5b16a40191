import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { TLSSocket } from "node:tls";
import type { Millis } from "../../core/time.ts";
import { nothingStated, type ProviderName } from "./answer.ts";
import { createAnswerer, type PlainAnswer } from "./answer-request.ts";
import { createCertificateAuthority } from "./certificate-authority.ts";
import type { LedgerEntry, OtherRequest } from "./ledger.ts";
import { createRequestParser, type ReceivedRequest, requestHeader } from "./request-parser.ts";
import { createSeededRandom } from "./seeded-random.ts";
import { type SendTarget, type Sent, sendAnswer } from "./send-answer.ts";
import { webSocketAccept } from "./web-socket-accept.ts";
import { holdSession, opensSession } from "./web-socket-session.ts";

/** The hosts that the simulation answers for over TLS. */
export const simulatedHosts: Readonly<Record<string, ProviderName>> = {
  "api.anthropic.com": "anthropic",
  "api.openai.com": "openai",
  "generativelanguage.googleapis.com": "gemini",
  "api.x.ai": "xai",
  "openrouter.ai": "openrouter",
};

export interface ProviderSimulationOptions {
  /** Equal seeds and equal requests give equal numbers. */
  seed?: string;
  /** More hosts, such as one that is compatible with OpenAI. */
  extraHosts?: Readonly<Record<string, ProviderName>>;
  now?: () => Millis;
  /** How long a provider thinks before it answers, in milliseconds: no time by default. */
  thinkMs?: number;
  /** False keeps no bytes of connections and bodies: for long runs. */
  keepBytes?: boolean;
}

/** One connection that reached the simulation, with the exact bytes of both directions (decrypted). */
export interface SimulatedConnection {
  /** The name in the TLS greeting; `null` on the plain port. */
  serverName: string | null;
  received: Buffer[];
  sent: Buffer[];
}

export interface ProviderSimulation {
  /** TLS; any provider, told apart by the `Host` header. */
  port: number;
  /** Plain HTTP; Ollama unless `Host` names another provider. */
  plainPort: number;
  ollamaUrl: string;
  hosts: readonly string[];
  caPem: string;
  /** The same on disk, until `close`. */
  caFile: string;
  /** Complete answers on paths with usage, in the order in which they ended. */
  ledger: LedgerEntry[];
  /** What else was asked on the providers' hosts. */
  others: OtherRequest[];
  connections: SimulatedConnection[];
  /** Resolves when no answer is under way. */
  settled(): Promise<void>;
  close(): Promise<void>;
}

/**
 * Starts providers on loopback that speak their real wire formats, with an own certificate authority. What an answer
 * looks like is chosen by a marker in the prompt, as `readScenario()` reads it; what it cost, by the seed.
 */
export async function createProviderSimulation(
  options: ProviderSimulationOptions = {},
): Promise<ProviderSimulation> {
  const { seed = "meter", now = Date.now, thinkMs = 0, keepBytes = true } = options;
  const providers = { ...simulatedHosts, ...options.extraHosts };
  const authority = await createCertificateAuthority();
  const answerRequest = createAnswerer(seed, now);
  const ledger: LedgerEntry[] = [];
  const others: OtherRequest[] = [];
  const connections: SimulatedConnection[] = [];
  const sockets = new Set<Socket>();
  const underWay = new Set<Promise<void>>();
  let ordinal = 0;

  function serve(socket: Socket, lower: Socket, serverName: () => string | null): void {
    const index = connections.length;
    const connection: SimulatedConnection = { serverName: null, received: [], sent: [] };
    connections.push(connection);
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
        if (keepBytes) connection.sent.push(bytes);
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
      const mine = ordinal++;
      const silent = scenario.outcome === "silence";
      if (thinkMs > 0) await delay(thinkMs);
      const sent: Sent = silent
        ? await stayDumb(socket)
        : await sendAnswer(
            target,
            given,
            { acceptEncoding: requestHeader(request, "accept-encoding") ?? "" },
            scenario,
            createSeededRandom(`${seed} sending ${mine}`),
          );
      const nothing = Buffer.alloc(0);
      ledger.push({
        ordinal: mine,
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
        requestBody: keepBytes ? request.body : nothing,
        contentEncoding: sent.contentEncoding,
        responsePlain: keepBytes ? sent.plain : nothing,
        responseEncoded: keepBytes ? sent.encoded : nothing,
      });
      if (sent.closes || wantsClose(request)) hangUp();
    }

    function serveSession(request: ReceivedRequest, provider: ProviderName, host: string): void {
      const write = socket.write.bind(socket) as (...words: unknown[]) => boolean;
      socket.write = (bytes: Uint8Array | string, ...rest: unknown[]) => {
        if (keepBytes) connection.sent.push(Buffer.from(bytes as string));
        return write(bytes, ...rest);
      };
      holdSession(request, {
        socket,
        answer: (call) => answerRequest(provider, call),
        answered({ found, message, stated, delivery, sent }) {
          const { answer: given } = found;
          const failed = given.status >= 400;
          const told = Buffer.from(sent);
          ledger.push({
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

    function hangUp(): void {
      closing = true;
      if (!socket.destroyed) socket.end();
    }

    async function sendPlain(request: ReceivedRequest, host: string, plain: PlainAnswer): Promise<void> {
      const accept = webSocketAccept(request);
      if (accept !== null) {
        upgraded = "echo";
        others.push({ connection: index, host, method: request.method, path: plain.path, status: 101 });
        await target.write(Buffer.from(accept));
        return;
      }
      others.push({
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
      if (wantsClose(request)) hangUp();
    }

    function enqueue(work: () => Promise<void>): void {
      const done = queue.then(work).catch((error: unknown) => {
        // A fault of the simulation itself: seen by the client as a broken connection, and by the reader of a test.
        console.error("simulation:", error);
        socket.destroy();
      });
      queue = done;
      underWay.add(done);
      done.finally(() => underWay.delete(done));
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
      connection.serverName ??= serverName();
      if (keepBytes) connection.received.push(bytes);
      // After an upgrade without a session the simulation is an echo: what comes goes back.
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
    ledger,
    others,
    connections,
    async settled() {
      while (underWay.size > 0) await Promise.allSettled(underWay);
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

/** Waits until the client has had enough. */
async function stayDumb(socket: Socket): Promise<Sent> {
  if (!socket.destroyed) await new Promise((done) => socket.once("close", done).once("end", done));
  const nothing = Buffer.alloc(0);
  return {
    stated: nothingStated,
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
