import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import { type AddressInfo, connect, createServer as createTcpServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { createExchangeReader } from "../../core/metering/exchange/exchange-reader.ts";
import { closeSocket } from "../../daemon/proxy/close-socket.ts";
import {
  collect,
  createCleanup,
  dialLocal,
  openProxy,
  providerLeaf,
  type TestProxy,
  tlsThrough,
} from "../daemon/proxy/proxy.rig.ts";

/** Each server adds this line to the response of each request that it accepted. */
const mark = "x-taken: 1";

/** Bytes after `POST <target> HTTP/1.1` and `Host`; `NEXT` is a second request that might be smuggled. */
const cases: Readonly<Record<string, string>> = {
  "a length": "Content-Length: 3\r\n\r\nabcNEXT",
  "a length of zero": "Content-Length: 0\r\n\r\nNEXT",
  "two equal lengths": "Content-Length: 3\r\nContent-Length: 3\r\n\r\nabcNEXT",
  "two lengths": "Content-Length: 3\r\nContent-Length: 0\r\n\r\nabcNEXT",
  "a list of lengths": "Content-Length: 3, 3\r\n\r\nabcNEXT",
  "a signed length": "Content-Length: +3\r\n\r\nabcNEXT",
  "a negative length": "Content-Length: -3\r\n\r\nabcNEXT",
  "a length in hex": "Content-Length: 0x3\r\n\r\nabcNEXT",
  "a length with a zero before it": "Content-Length: 03\r\n\r\nabcNEXT",
  "a length beyond 2^64": "Content-Length: 18446744073709551619\r\n\r\nabcNEXT",
  "an empty length": "Content-Length:\r\n\r\nNEXT",
  "a length with a space in it": "Content-Length: 3 3\r\n\r\nabcNEXT",
  "a space before the colon": "Content-Length : 3\r\n\r\nabcNEXT",
  "a tab before the colon": "Content-Length\t: 3\r\n\r\nabcNEXT",
  chunks: "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\nNEXT",
  "chunks in other letters": "Transfer-Encoding: cHuNkEd\r\n\r\n3\r\nabc\r\n0\r\n\r\nNEXT",
  "both framings": "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nNEXT",
  "both framings the other way": "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\nNEXT",
  "chunked twice": "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nNEXT",
  "chunked before another coding": "Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\nNEXT",
  "an unknown coding before chunked": "Transfer-Encoding: x, chunked\r\n\r\n0\r\n\r\nNEXT",
  "an unknown coding": "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\nNEXT",
  "chunked with a vertical tab": "Transfer-Encoding: \vchunked\r\n\r\n0\r\n\r\nNEXT",
  "a space before the colon of a coding": "Transfer-Encoding : chunked\r\n\r\n0\r\n\r\nNEXT",
  "a folded coding": "Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\nNEXT",
  "a folded length": "X: a\r\n Content-Length: 3\r\n\r\nNEXT",
  "a length behind a bare LF": "X: a\nContent-Length: 3\r\n\r\nabcNEXT",
  "a length behind a bare CR": "X: a\rContent-Length: 3\r\n\r\nNEXT",
  "a head that ends with bare LFs": "Content-Length: 3\n\nabcNEXT",
  "a NUL in a field": "X: \u0000\r\nContent-Length: 3\r\n\r\nabcNEXT",
  "a field without a colon": "X\r\nContent-Length: 3\r\n\r\nabcNEXT",
  "a field without a name": ": x\r\nContent-Length: 3\r\n\r\nabcNEXT",
  "a chunk size with an extension": 'Transfer-Encoding: chunked\r\n\r\n3;a="b"\r\nabc\r\n0\r\n\r\nNEXT',
  "a chunk extension with a bare LF": "Transfer-Encoding: chunked\r\n\r\n3;a\nabc\r\n0\r\n\r\nNEXT",
  "a chunk size with 0x": "Transfer-Encoding: chunked\r\n\r\n0x3\r\nabc\r\n0\r\n\r\nNEXT",
  "a chunk size with a sign": "Transfer-Encoding: chunked\r\n\r\n+3\r\nabc\r\n0\r\n\r\nNEXT",
  "a chunk size with spaces": "Transfer-Encoding: chunked\r\n\r\n 3 \r\nabc\r\n0\r\n\r\nNEXT",
  "an empty chunk size": "Transfer-Encoding: chunked\r\n\r\n\r\nabc\r\n0\r\n\r\nNEXT",
  "a chunk size beyond 2^64": "Transfer-Encoding: chunked\r\n\r\n10000000000000003\r\nabc\r\n0\r\n\r\nNEXT",
  "a chunk without its line end": "Transfer-Encoding: chunked\r\n\r\n3\r\nabc0\r\n\r\nNEXT",
  "chunks with bare LFs": "Transfer-Encoding: chunked\r\n\r\n3\nabc\n0\n\nNEXT",
  "a trailer that is a length": "Transfer-Encoding: chunked\r\n\r\n0\r\nContent-Length: 9\r\n\r\nNEXT",
  "a bad trailer": "Transfer-Encoding: chunked\r\n\r\n0\r\nbad\u0001: x\r\n\r\nNEXT",
  "a request to upgrade": "Connection: Upgrade\r\nUpgrade: h2c\r\nContent-Length: 0\r\n\r\nNEXT",
  "a second Host": "Host: elsewhere\r\nContent-Length: 0\r\n\r\nNEXT",
  "a head of 60 KB": `X: ${"x".repeat(60_000)}\r\nContent-Length: 0\r\n\r\nNEXT`,
  "a head of 70 KB": `X: ${"x".repeat(70_000)}\r\nContent-Length: 0\r\n\r\nNEXT`,
  "empty lines between requests": "Content-Length: 0\r\n\r\n\r\n\r\nNEXT",
};

/** Bytes that every server reads as two requests. */
const plainCases: ReadonlySet<string> = new Set(["a length", "a length of zero", "chunks"]);

/**
 * Node's server drops bytes after such a request in the same packet (seen in 24.21). Our relay would hold them back.
 */
const droppedByNode = "a request to upgrade";

const cleanup = createCleanup();
const folder = mkdtempSync(join(tmpdir(), "meter-framing-"));
const children: ChildProcess[] = [];
after(async () => {
  await cleanup.run();
  for (const child of children) {
    child.kill("SIGKILL");
    await once(child, "exit");
  }
  rmSync(folder, { recursive: true, force: true });
});

/** The bodies that Node's server read, by the request's order on its connection. */
const bodies = new Map<Socket, string[]>();

function answer(request: IncomingMessage, response: ServerResponse): void {
  const seen = bodies.get(request.socket) ?? [];
  bodies.set(request.socket, seen);
  const index = seen.push("") - 1;
  request.on("data", (bytes: Buffer) => (seen[index] += bytes.toString("latin1")));
  request.on("end", () => response.writeHead(200, { "x-taken": "1", "content-length": "0" }).end());
  request.on("error", () => {});
}

async function freePort(): Promise<number> {
  const server = createTcpServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

async function listening(port: number): Promise<void> {
  for (;;) {
    const socket = connect(port, "127.0.0.1");
    const isUp = await new Promise<boolean>((resolve) =>
      socket.once("connect", () => resolve(true)).once("error", () => resolve(false)),
    );
    socket.destroy();
    if (isUp) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

async function startNode(secure: boolean): Promise<number> {
  const server = secure
    ? createTlsServer({ cert: providerLeaf.certificatePem, key: providerLeaf.keyPem }, answer)
    : createServer(answer);
  server.on("clientError", (_, socket) => void socket.end("HTTP/1.1 400 Bad Request\r\n\r\n"));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  cleanup.add(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

async function startProgram(
  program: string,
  words: (file: string) => string[],
  config: (port: number) => string,
) {
  const port = await freePort();
  const file = join(folder, `${program.split("/").pop()}.conf`);
  writeFileSync(file, config(port));
  children.push(spawn(program, words(file), { stdio: "ignore" }));
  await listening(port);
  return port;
}

const nginxConfig = (
  port: number,
) => `daemon off; master_process off; pid ${folder}/nginx.pid; error_log ${folder}/nginx.log;
events {}
http { access_log off; client_body_temp_path ${folder}/b; proxy_temp_path ${folder}/p; fastcgi_temp_path ${folder}/f;
  uwsgi_temp_path ${folder}/u; scgi_temp_path ${folder}/s; lingering_close off; large_client_header_buffers 8 80k;
  server { listen 127.0.0.1:${port}; location / { add_header x-taken 1 always; return 200 ""; } } }`;

const haproxyConfig = (port: number, behind: number) => `defaults
  mode http
  timeout client 10s
  timeout server 10s
  timeout connect 10s
frontend all
  bind 127.0.0.1:${port}
  default_backend node
backend node
  server node 127.0.0.1:${behind}
`;

const servers: Readonly<Record<string, { start(): Promise<number>; secure?: boolean; program?: string }>> = {
  Node: { start: () => startNode(false) },
  "Node over TLS": { start: () => startNode(true), secure: true },
  nginx: {
    program: "/usr/sbin/nginx",
    start: () => startProgram("/usr/sbin/nginx", (file) => ["-c", file, "-p", folder], nginxConfig),
  },
  haproxy: {
    program: "/usr/sbin/haproxy",
    async start() {
      const behind = await startNode(false);
      return startProgram(
        "/usr/sbin/haproxy",
        (file) => ["-f", file],
        (port) => haproxyConfig(port, behind),
      );
    },
  },
};

/**
 * What the reader of the log found on one connection: heads, the bodies of requests, and whether it stopped reading.
 */
function readLogged(proxy: TestProxy, from: number) {
  const seen = { requests: 0, bodies: [] as string[], isUnreadable: false };
  const reader = createExchangeReader({
    requestHead: () => {
      seen.requests += 1;
      seen.bodies.push("");
    },
    requestBody: (id, bytes) => (seen.bodies[id - 1] += Buffer.from(bytes).toString("latin1")),
    requestEnd() {},
    informational() {},
    responseHead() {},
    responseBody() {},
    responseEnd() {},
    upgraded() {},
    upgradedBytes() {},
    unreadable: () => (seen.isUnreadable = true),
  });
  // The last frames of the previous connection may arrive late.
  const frames = proxy.frames.slice(from);
  const own = new Set(frames.flatMap((frame) => (frame.kind === "opened" ? [frame.connection] : [])));
  for (const frame of frames) {
    if (!own.has(frame.connection)) continue;
    if (frame.kind === "data") reader.push(frame.direction, frame.bytes, 0);
    else if (frame.kind === "ended") reader.end(frame.direction, 0);
  }
  return seen;
}

/** Resolves when both requests are answered. */
const takenTwice = (got: ReturnType<typeof collect>) =>
  got.until((bytes) => bytes.toString("latin1").split(mark).length > 2);

const quiet = () => new Promise((resolve) => setTimeout(resolve, quietMs));

/**
 * How long to wait for a response, in milliseconds: longer than any server on loopback takes, unless it waits for more
 * bytes.
 */
const quietMs = 300;

for (const [name, server] of Object.entries(servers)) {
  const missing = server.program !== undefined && !existsSync(server.program);
  describe(`ambiguous framing before ${name}`, {
    skip: missing ? `${name} is not installed` : false,
  }, () => {
    let proxy: TestProxy;
    let port: number;
    before(async () => {
      port = await server.start();
      proxy = await openProxy(cleanup);
    });

    for (const [what, rest] of Object.entries(cases)) {
      it(`${what}: every accepted request is in the log`, async () => {
        const from = proxy.frames.length;
        bodies.clear();
        const host = `localhost:${port}`;
        const target = (path: string) => (server.secure ? path : `http://${host}${path}`);
        const next = `GET ${target("/next")} HTTP/1.1\r\nHost: ${host}\r\n\r\n`;
        const request = `POST ${target("/first")} HTTP/1.1\r\nHost: ${host}\r\n${rest.replace("NEXT", next)}`;
        const client = server.secure ? await tlsThrough(proxy.port, port) : await dialLocal(proxy.port);
        const got = collect(client);
        client.write(Buffer.from(request, "latin1"));
        const enough = plainCases.has(what) ? takenTwice(got) : quiet();
        await Promise.race([got.end(), enough]);
        closeSocket(client);
        await proxy.ping(5_000);
        const answers = got.bytes().toString("latin1");
        const taken = answers.split(mark).length - 1;
        const logged = readLogged(proxy, from);
        const isRefused = /HTTP\/1\.\d 4\d\d/.test(answers);
        if (plainCases.has(what)) assert.equal(taken, 2);
        if (!logged.isUnreadable) {
          assert.ok(taken <= logged.requests, `${taken} taken, ${logged.requests} logged`);
          const isDropped = what === droppedByNode && server.secure === true;
          if (taken < logged.requests)
            assert.ok(isRefused || answers === "" || isDropped, answers.slice(0, 300));
        }
        if (bodies.size === 1 && name !== "haproxy" && !isRefused && !logged.isUnreadable) {
          assert.deepEqual([...bodies.values()].flat(), logged.bodies.slice(0, taken));
        }
      });
    }
  });
}
