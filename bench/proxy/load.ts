// The benchmark's client: plain TLS sockets with keep-alive, so that its own cost is small and equal for all contenders.
import { readFileSync } from "node:fs";
import { connect as connectTcp, type Socket } from "node:net";
import process from "node:process";
import { connect as connectTls, createSecureContext, type SecureContext, type TLSSocket } from "node:tls";

/** How a contender is reached: through CONNECT at `proxyPort`, or directly at `port`. */
export interface Route {
  host: string;
  port: number;
  proxyPort: number | null;
  caFiles: readonly string[];
}

export interface Workload {
  /**
   * `cancel` opens a connection per request and resets it in the middle of the streamed response. `new` opens one per
   * request too; its times include opening it.
   */
  kind: "json" | "stream" | "upload" | "hold" | "cancel" | "new";
  connections: number;
  /** The total number of requests; for `hold`, one per connection. */
  requests: number;
  /** Events per stream. */
  events: number;
  /** Size of each request body, in bytes. */
  bodyBytes: number;
}

export interface Measured {
  requests: number;
  seconds: number;
  latencyMs: number[];
  firstByteMs: number[];
  receivedBytes: number;
}

const secureContextOf = (route: Route): SecureContext =>
  createSecureContext({ ca: route.caFiles.map((file) => readFileSync(file, "utf8")) });

async function open(route: Route, secureContext: SecureContext): Promise<TLSSocket & { abort(): void }> {
  const socket: Socket = connectTcp({
    host: "127.0.0.1",
    port: route.proxyPort ?? route.port,
    noDelay: true,
  });
  await new Promise((resolve, reject) => socket.once("connect", resolve).once("error", reject));
  if (route.proxyPort !== null) {
    socket.write(`CONNECT ${route.host}:${route.port} HTTP/1.1\r\nhost: ${route.host}:${route.port}\r\n\r\n`);
    const answer = await new Promise<Buffer>((resolve, reject) =>
      socket.once("data", resolve).once("error", reject),
    );
    if (!/^HTTP\/1\.[01] 200/.test(answer.toString("latin1", 0, 12)))
      throw new Error(`CONNECT: ${answer.toString("latin1", 0, 80)}`);
  }
  const secure = connectTls({ socket, servername: route.host, secureContext, ALPNProtocols: ["http/1.1"] });
  await new Promise((resolve, reject) => secure.once("secureConnect", resolve).once("error", reject));
  secure.setNoDelay(true);
  return Object.assign(secure, { abort: () => void socket.resetAndDestroy() });
}

const prompt = JSON.stringify({
  model: "claude-sonnet-4-5",
  max_tokens: 1024,
  messages: [{ role: "user", content: "Say something that a benchmark would say. ".repeat(20) }],
});

function requestBytes(work: Workload, route: Route): Buffer {
  const body = work.bodyBytes > 0 ? Buffer.alloc(work.bodyBytes, "x") : Buffer.from(prompt);
  const query =
    work.kind === "stream" || work.kind === "cancel"
      ? `?stream=${work.events}`
      : work.kind === "hold"
        ? "?hold=1"
        : "";
  const head =
    `POST /v1/messages${query} HTTP/1.1\r\nhost: ${route.host}:${route.port}\r\naccept: application/json\r\n` +
    "content-type: application/json\r\nuser-agent: bench/1\r\nx-api-key: sk-ant-bench-0000000000000000000000\r\n" +
    `anthropic-version: 2023-06-01\r\ncontent-length: ${body.length}\r\n\r\n`;
  return Buffer.concat([Buffer.from(head), body]);
}

/** Returns a function that finds the end of a response; a stream ends with its last chunk. */
function createEndFinder(): (bytes: Buffer) => boolean {
  let head = "";
  let left = -1;
  let tail = "";
  return (bytes) => {
    let body = bytes;
    if (left === -1) {
      head += bytes.toString("latin1");
      const end = head.indexOf("\r\n\r\n");
      if (end === -1) return false;
      const length = /content-length: (\d+)/i.exec(head.slice(0, end));
      left = length === null ? Number.POSITIVE_INFINITY : Number(length[1]);
      body = Buffer.from(head.slice(end + 4), "latin1");
      head = "";
    }
    left -= body.length;
    tail = (tail + body.toString("latin1", Math.max(0, body.length - 7))).slice(-7);
    const done = left === 0 || tail === "\r\n0\r\n\r\n";
    if (done) {
      left = -1;
      tail = "";
    }
    return done;
  };
}

/** Cancels each call after a different number of response bytes. */
async function cancelAll(route: Route, work: Workload, measured: Measured): Promise<void> {
  const request = requestBytes(work, route);
  const secureContext = secureContextOf(route);
  let left = work.requests;
  const client = async () => {
    while (left > 0) {
      left -= 1;
      const socket = await open(route, secureContext);
      socket.on("error", () => {});
      const closed = new Promise((resolve) => socket.once("close", resolve));
      const enough = (measured.requests * 997) % 20_000;
      let received = 0;
      let isAborted = false;
      socket.on("data", (bytes: Buffer) => {
        received += bytes.length;
        if (received < enough || isAborted) return;
        isAborted = true;
        socket.abort();
      });
      socket.write(request);
      await closed;
      measured.requests += 1;
      measured.receivedBytes += received;
    }
  };
  await Promise.all(Array.from({ length: work.connections }, client));
}

/** Makes each call on a new connection, as a process that makes one call does. */
async function callOnNewConnections(route: Route, work: Workload, measured: Measured): Promise<void> {
  const request = requestBytes(work, route);
  const secureContext = secureContextOf(route);
  let left = work.requests;
  const client = async () => {
    while (left > 0) {
      left -= 1;
      const startedAt = performance.now();
      const socket = await open(route, secureContext);
      const isEnd = createEndFinder();
      await new Promise<void>((resolve, reject) => {
        socket.on("error", reject);
        socket.on("close", () => reject(new Error("the connection was closed")));
        socket.on("data", (bytes: Buffer) => {
          measured.receivedBytes += bytes.length;
          if (isEnd(bytes)) resolve();
        });
        socket.write(request);
      });
      measured.latencyMs.push(performance.now() - startedAt);
      measured.requests += 1;
      socket.removeAllListeners("close");
      socket.destroy();
    }
  };
  await Promise.all(Array.from({ length: work.connections }, client));
}

/** Makes calls on one connection until none are left to make. With `hold`, it resolves at the first byte of the first response. */
function callOn(
  socket: TLSSocket,
  request: Buffer,
  holds: boolean,
  calls: { left: number },
  measured: Measured,
) {
  return new Promise<void>((resolve, reject) => {
    const isEnd = createEndFinder();
    let sentAt = 0;
    let first = true;
    const next = () => {
      if (calls.left <= 0) return resolve();
      calls.left -= 1;
      first = true;
      sentAt = performance.now();
      socket.write(request);
    };
    socket.on("error", reject);
    socket.on("close", () => reject(new Error("the connection was closed")));
    socket.on("data", (bytes: Buffer) => {
      measured.receivedBytes += bytes.length;
      if (first) {
        first = false;
        measured.firstByteMs.push(performance.now() - sentAt);
        if (holds) return resolve();
      }
      if (isEnd(bytes)) {
        measured.requests += 1;
        measured.latencyMs.push(performance.now() - sentAt);
        next();
      }
    });
    next();
  });
}

/** Makes all calls on a fixed number of connections. */
async function callAll(route: Route, work: Workload, measured: Measured): Promise<void> {
  const request = requestBytes(work, route);
  const secureContext = secureContextOf(route);
  const sockets = await Promise.all(
    Array.from({ length: work.connections }, () => open(route, secureContext)),
  );
  const calls = { left: work.requests };
  const holds = work.kind === "hold";
  const started = performance.now();
  await Promise.all(sockets.map((socket) => callOn(socket, request, holds, calls, measured)));
  measured.seconds = (performance.now() - started) / 1000;
  if (holds) {
    // The orchestrator measures the contender's memory while the streams are open.
    process.send?.({ held: sockets.length });
    await new Promise((resolve) => process.once("message", resolve));
  }
  for (const socket of sockets) {
    socket.removeAllListeners("close");
    socket.destroy();
  }
}

export async function run(route: Route, work: Workload): Promise<Measured> {
  const measured: Measured = { requests: 0, seconds: 0, latencyMs: [], firstByteMs: [], receivedBytes: 0 };
  if (work.kind === "cancel") await cancelAll(route, work, measured);
  else if (work.kind === "new") await callOnNewConnections(route, work, measured);
  else await callAll(route, work, measured);
  return measured;
}

process.on("message", async (message: { route: Route; work: Workload } | "release") => {
  if (message === "release") return;
  try {
    process.send?.({ measured: await run(message.route, message.work) });
  } catch (cause) {
    process.send?.({ failed: cause instanceof Error ? cause.message : String(cause) });
  }
});
