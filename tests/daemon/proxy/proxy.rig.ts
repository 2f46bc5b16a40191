import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from "node:crypto";
import { once } from "node:events";
import { connect, createServer, type Server, type Socket } from "node:net";
import process from "node:process";
import {
  connect as connectTls,
  createSecureContext,
  createServer as createTlsServer,
  type TLSSocket,
} from "node:tls";
import { MessageChannel, type MessagePort, Worker } from "node:worker_threads";
import {
  authorityExtensions,
  issueCertificate,
  keyIdentifier,
  serverExtensions,
} from "../../../adapters/certificates/issue-certificate.ts";
import type { CallerAnswer } from "../../../adapters/process-table/caller-query.ts";
import type { LookupRequest } from "../../../adapters/process-table/lookup-port.ts";
import type { CertificatePair } from "../../../core/ports/certificates.ts";
import type { ProcessFacts } from "../../../core/ports/process-table.ts";
import { noParentProxies } from "../../../daemon/proxy/parent-proxy.ts";
import type { ProxyConfig } from "../../../daemon/proxy/proxy-config.ts";
import {
  type ProxyThread,
  type ProxyThreadData,
  startProxyThread,
} from "../../../daemon/proxy/proxy-thread.ts";
import {
  type ConnectLookup,
  type ProxyEvent,
  type ProxySink,
  type RunningProxy,
  startProxy,
} from "../../../daemon/proxy/start-proxy.ts";
import type { TapFrame } from "../../../daemon/proxy/tap-frames.ts";
import { bundledThread } from "../../end-to-end/program-file.rig.ts";

const dayMs = 86_400_000;

function newKey(): { privateKey: KeyObject; publicKey: KeyObject } {
  return generateKeyPairSync("ec", { namedCurve: "P-256" });
}

/** A certificate authority for tests, with the extensions of the real one. */
export function testAuthority(name: string, hosts: readonly string[]): CertificatePair {
  const { privateKey, publicKey } = newKey();
  const certificatePem = issueCertificate({
    subject: name,
    issuer: name,
    publicKey,
    signingKey: privateKey,
    notBefore: Date.now() - dayMs,
    notAfter: Date.now() + 400 * dayMs,
    extensions: authorityExtensions(publicKey, hosts),
  });
  return { certificatePem, keyPem: privateKey.export({ format: "pem", type: "pkcs8" }).toString() };
}

/** A server certificate of a test authority. An `expired` one expired yesterday. */
export function testLeaf(
  authority: CertificatePair,
  name: string,
  host: string,
  expired = false,
): CertificatePair {
  const { privateKey, publicKey } = newKey();
  const signingKey = createPrivateKey(authority.keyPem);
  const certificatePem = issueCertificate({
    subject: host,
    issuer: name,
    publicKey,
    signingKey,
    notBefore: Date.now() - 10 * dayMs,
    notAfter: Date.now() + (expired ? -dayMs : dayMs / 2),
    extensions: serverExtensions(publicKey, keyIdentifier(createPublicKey(signingKey)), host),
  });
  return { certificatePem, keyPem: privateKey.export({ format: "pem", type: "pkcs8" }).toString() };
}

/** The provider's authority, for the host name `localhost`, which resolves everywhere. */
export const providerName = "test provider CA";
export const providerAuthority = testAuthority(providerName, ["*.localhost", "*.provider.test"]);
export const providerLeaf = testLeaf(providerAuthority, providerName, "localhost");
/** The certificates that upstream servers are verified against in tests. */
export const providerRoots = [providerAuthority.certificatePem];
/** meter's authority. */
export const meterAuthority = testAuthority("test meter CA", ["localhost", "*.provider.test"]);

/** Closes the resources of a test, last opened first. */
export function createCleanup(): { add(close: () => unknown): void; run(): Promise<void> } {
  const closers: (() => unknown)[] = [];
  return {
    add: (close) => void closers.push(close),
    async run() {
      for (const close of closers.splice(0).reverse()) await close();
    },
  };
}

export type Cleanup = ReturnType<typeof createCleanup>;

async function listen(server: Server, cleanup: Cleanup): Promise<number> {
  const sockets = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
    socket.on("close", () => sockets.delete(socket));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  cleanup.add(() => {
    for (const socket of sockets) socket.destroy();
    return new Promise((resolve) => server.close(resolve));
  });
  const address = server.address();
  return typeof address === "object" && address !== null ? address.port : 0;
}

/** A TLS server whose connections the test serves. */
export async function listenTls(
  cleanup: Cleanup,
  serve: (socket: TLSSocket) => void,
  leaf: CertificatePair = providerLeaf,
  options: object = {},
): Promise<number> {
  const server = createTlsServer({
    cert: leaf.certificatePem,
    key: leaf.keyPem,
    ALPNProtocols: ["http/1.1"],
    allowHalfOpen: true,
    noDelay: true,
    ...options,
  });
  server.on("tlsClientError", (_, socket) => socket.destroy());
  server.on("secureConnection", (socket: TLSSocket) => {
    socket.on("error", () => {});
    serve(socket);
  });
  return listen(server, cleanup);
}

/** A TCP server whose connections the test serves. */
export async function listenTcp(cleanup: Cleanup, serve: (socket: Socket) => void): Promise<number> {
  const server = createServer({ allowHalfOpen: true, noDelay: true });
  server.on("connection", serve);
  return listen(server, cleanup);
}

/** A proxy for tests, with the frames and events it delivered. */
export interface TestProxy extends RunningProxy {
  readonly frames: TapFrame[];
  readonly events: ProxyEvent[];
  /** The connection and request of each call that was sent before the decision on it. */
  readonly sentLate: (readonly [number, number])[];
  /** Waits for a frame. */
  seen(matches: (frame: TapFrame) => boolean): Promise<TapFrame>;
  /** Waits for an event. */
  happened(matches: (event: ProxyEvent) => boolean): Promise<ProxyEvent>;
  /** The logged bytes of one direction of a connection, by default the first. */
  logged(direction: "request" | "response", connection?: number): Buffer;
}

/**
 * Starts a thread of a proxy, as `startProxyThread()` does. Most tests start one, and from the sources, and with the modules that the test
 * runner loads into every thread, that takes twice the CPU time.
 */
function startThread(): ProxyThread {
  const bundle = bundledThread("proxy-worker.js");
  if (bundle === undefined) return startProxyThread();
  const data: ProxyThreadData = { readSystemRoots: false };
  const thread = new Worker(bundle, { workerData: data, execArgv: [] });
  thread.on("error", () => {}); // `exit` follows
  thread.unref();
  return thread;
}

/** Starts a proxy that trusts the test provider. */
export async function openProxy(
  cleanup: Cleanup,
  overrides: Partial<ProxyConfig> = {},
  connectLookup?: ConnectLookup,
  decide?: ProxySink["decide"],
): Promise<TestProxy> {
  const frames: TapFrame[] = [];
  const events: ProxyEvent[] = [];
  const sentLate: (readonly [number, number])[] = [];
  const waiting = new Set<() => void>();
  const when = <T>(find: () => T | undefined): Promise<T> =>
    new Promise((resolve) => {
      const look = () => {
        const found = find();
        if (found === undefined) return;
        waiting.delete(look);
        resolve(found);
      };
      waiting.add(look);
      look();
    });
  const proxy = await startProxy(
    {
      host: "127.0.0.1",
      port: 0,
      ownPorts: [],
      providerHosts: ["localhost"],
      gatewayRoutes: [],
      authority: meterAuthority,
      roots: providerRoots,
      parentProxies: noParentProxies,
      proxyPassword: null,
      ownUid: process.geteuid?.(),
      ...overrides,
    },
    {
      ...(decide !== undefined && { decide }),
      sentLate: (connection, request) => void sentLate.push([connection, request]),
      frames(batch) {
        // The bytes are valid only during the call. Frames of the kind `calling` have their own test.
        for (const frame of batch) {
          if (frame.kind === "data") frames.push({ ...frame, bytes: frame.bytes.slice() });
          else if (frame.kind !== "calling") frames.push(frame);
        }
        for (const wake of waiting) wake();
      },
      event(event) {
        events.push(event);
        for (const wake of waiting) wake();
      },
    },
    { restartDelayMs: () => 0, startThread, ...(connectLookup !== undefined && { connectLookup }) },
  );
  cleanup.add(() => proxy.stop(0));
  return Object.assign(Object.create(proxy) as RunningProxy, {
    frames,
    events,
    sentLate,
    seen: (matches: (frame: TapFrame) => boolean) => when(() => frames.find(matches)),
    happened: (matches: (event: ProxyEvent) => boolean) => when(() => events.find(matches)),
    logged: (direction: "request" | "response", connection?: number) => {
      const wanted = connection ?? frames.find((frame) => frame.kind === "opened")?.connection;
      return Buffer.concat(
        frames.flatMap((frame) =>
          frame.kind === "data" && frame.direction === direction && frame.connection === wanted
            ? [frame.bytes]
            : [],
        ),
      );
    },
  });
}

/** Connects to a local port. Errors are ignored unless the test listens for them. */
export async function dialLocal(port: number): Promise<Socket> {
  const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true, noDelay: true });
  socket.on("error", () => {});
  await once(socket, "connect");
  return socket;
}

/** Collects what a socket receives. `until` waits for bytes, `end` for any kind of end. */
export function collect(socket: Socket): {
  bytes(): Buffer;
  until(enough: (bytes: Buffer) => boolean): Promise<Buffer>;
  end(): Promise<"end" | "error" | "close">;
} {
  const pieces: Buffer[] = [];
  let how: "end" | "error" | "close" | null = null;
  const waiting = new Set<() => void>();
  const wake = () => {
    for (const each of [...waiting]) each();
  };
  socket.on("data", (bytes: Buffer) => {
    pieces.push(bytes);
    wake();
  });
  for (const event of ["end", "error", "close"] as const) {
    socket.on(event, () => {
      how ??= event;
      wake();
    });
  }
  const when = <T>(ready: () => T | null): Promise<T> =>
    new Promise((resolve) => {
      const look = () => {
        const found = ready();
        if (found === null) return;
        waiting.delete(look);
        resolve(found);
      };
      waiting.add(look);
      look();
    });
  const bytes = () => Buffer.concat(pieces);
  socket.resume();
  return {
    bytes,
    until: (enough) => when(() => (enough(bytes()) ? bytes() : how === null ? null : bytes())),
    end: () => when(() => how),
  };
}

/** Sends CONNECT and returns the head of the response and the socket. */
export async function connectThrough(
  proxyPort: number,
  authority: string,
  headers = "",
): Promise<{ socket: Socket; head: string }> {
  const socket = await dialLocal(proxyPort);
  socket.write(`CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\n${headers}\r\n`);
  const head = await readHead(socket);
  return { socket, head };
}

/** Reads up to the empty line and puts the rest back. */
export function readHead(socket: Socket): Promise<string> {
  return new Promise((resolve) => {
    let seen = Buffer.alloc(0);
    const onData = (bytes: Buffer) => {
      seen = Buffer.concat([seen, bytes]);
      const end = seen.indexOf("\r\n\r\n");
      if (end === -1) return;
      stop();
      socket.pause();
      if (seen.length > end + 4) socket.unshift(seen.subarray(end + 4));
      resolve(seen.toString("latin1", 0, end + 4));
    };
    const onEnd = () => {
      stop();
      resolve(seen.toString("latin1"));
    };
    const stop = () => {
      socket.off("data", onData);
      socket.off("end", onEnd);
      socket.off("close", onEnd);
    };
    socket.on("data", onData);
    socket.on("end", onEnd);
    socket.on("close", onEnd);
  });
}

/** What a client without options of its own trusts. Made once, because it takes half as long as a handshake. */
const clientContext = createSecureContext({ ca: [meterAuthority.certificatePem] });

/** Opens TLS through the proxy and trusts meter's authority, like a client with its CA file. */
export async function tlsThrough(
  proxyPort: number,
  port: number,
  options: object = { secureContext: clientContext },
  headers = "",
  onSession: (session: Buffer) => void = () => {},
): Promise<TLSSocket> {
  const { socket } = await connectThrough(proxyPort, `localhost:${port}`, headers);
  const tls = connectTls({
    socket,
    servername: "localhost",
    ca: [meterAuthority.certificatePem],
    ALPNProtocols: ["http/1.1"],
    ...options,
  });
  tls.on("error", () => {});
  tls.on("session", onSession);
  await once(tls, "secureConnect");
  return tls;
}

/** A lookup that finds the given user for every client, or no user for null. */
export function everyClientOf(
  cleanup: Cleanup,
  uid: () => number | null,
  caller: ProcessFacts | null = null,
): ConnectLookup {
  return (deliver) => {
    const { port1, port2 } = new MessageChannel();
    cleanup.add(() => port1.close());
    port1.on("message", ({ id, queries }: LookupRequest) => {
      const answers: CallerAnswer[] = queries.map(() => ({ uid: uid(), process: caller }));
      port1.postMessage({ id, answers });
    });
    deliver(port2 as MessagePort);
    return () => port1.close();
  };
}

/** A plain HTTP server that records what each connection sends and answers with `answer`. */
export function openServer(answer: (seen: string, socket: Socket) => void) {
  const connections: { seen: string; socket: Socket; closed: Promise<unknown> }[] = [];
  const serve = (socket: Socket) => {
    const connection = { seen: "", socket, closed: new Promise((resolve) => socket.on("close", resolve)) };
    connections.push(connection);
    socket.on("data", (bytes: Buffer) => {
      connection.seen += bytes.toString("latin1");
      answer(connection.seen, socket);
    });
    socket.on("end", () => socket.end());
  };
  return { connections, serve };
}

/** Answers `ok <n>` to the n-th request of a connection. Every empty line ends a request. */
export const answerEach = () => {
  const answered = new WeakMap<Socket, number>();
  return (seen: string, socket: Socket) => {
    const asked = seen.split("\r\n\r\n").length - 1;
    for (let next = (answered.get(socket) ?? 0) + 1; next <= asked; next += 1) {
      answered.set(socket, next);
      socket.write(`HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nok ${next}`);
    }
  };
};
