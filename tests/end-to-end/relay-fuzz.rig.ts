import { once } from "node:events";
import { readdirSync, readFileSync, readlinkSync, writeFileSync } from "node:fs";
import { connect, createServer, type Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { connect as connectTls, TLSSocket } from "node:tls";
import { closeSocket, registerTlsStream, resetSocket } from "../../daemon/proxy/close-socket.ts";
import {
  type CertificateAuthority,
  createCertificateAuthority,
} from "../simulation/certificate-authority.ts";
import { listen } from "../simulation/mod.ts";
import { createSeededRandom, type SeededRandom } from "../simulation/seeded-random.ts";
import { createHome, type MeterProcess, removeHome, startMeter, waitFor } from "./meter-process.rig.ts";
import { receive } from "./raw-client.rig.ts";

/** The password of the daemon's proxy, so that clients without it are refused with 407. */
const password = "fuzz";
const login = `Proxy-Authorization: Basic ${Buffer.from(`fuzz:${password}`).toString("base64")}\r\n`;

const tlsHost = "api.anthropic.com";
const plainHost = "plain.test";

/** A stream with plain bytes, and the TCP socket below it. */
interface Side {
  readonly stream: Socket;
  readonly bottom: Socket;
}

/** The ways in which one side of a connection ends, or does not end. */
type Ending = (side: Side, random: SeededRandom) => void;

/**
 * Node crashes if a TLS stream is used in the tick in which its TCP socket was reset or destroyed
 * (docs/node-tls-reset.md); that is what the daemon is tested for, so each of these touches the stream or the socket,
 * and never both.
 */
const endings: Readonly<Record<string, Ending>> = {
  reset: ({ bottom }) => resetSocket(bottom),
  "close without a goodbye": ({ bottom }) => void bottom.destroy(),
  "close the stream": ({ stream }) => void stream.destroy(),
  "say FIN and stay": ({ stream }) => void stream.end(),
  "send garbage": ({ stream }, random) => void stream.write(random.text(random.integer(1, 70_000))),
  "send garbage below TLS": ({ bottom }, random) => void bottom.write(random.text(random.integer(1, 2_000))),
  "send a TLS alert": ({ bottom }) => void bottom.write(Buffer.from([21, 3, 3, 0, 2, 2, 40])),
  "stop reading": ({ stream }) => void stream.pause(),
  nothing: () => {},
};

/** Resolves at the event or when the socket is closed, whichever comes first. */
const eventOrClose = (socket: Socket, event: string): Promise<void> =>
  new Promise((resolve) => {
    if (socket.destroyed) return resolve();
    socket.once(event, () => resolve());
    socket.once("close", () => resolve());
  });

const end = (side: Side, random: SeededRandom) => {
  if (side.bottom.destroyed || !side.bottom.writable || !side.stream.writable) return;
  endings[random.pick(Object.keys(endings))]?.(side, random);
};

/** Lets the previous bytes travel alone, or not. */
const pause = (random: SeededRandom) =>
  random.integer(0, 1) === 0
    ? new Promise<void>((resolve) => setImmediate(resolve))
    : delay(random.integer(0, 3));

/** Writes the parts in turn and ends the side after any of them, or in one case of ten never. */
async function play(side: Side, parts: readonly (string | Buffer)[], random: SeededRandom): Promise<void> {
  const last = random.integer(0, Math.ceil(parts.length * 1.1));
  for (const [index, part] of parts.entries()) {
    if (index === last) break;
    if (side.bottom.destroyed || !side.stream.writable) return;
    side.stream.write(part);
    if (random.integer(0, 3) > 0) await pause(random);
  }
  end(side, random);
  await pause(random);
  if (random.integer(0, 2) === 0) end(side, random);
}

const chunk = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`;
const event = 'event: content_block_delta\ndata: {"type":"content_block_delta"}\n\n';

/** The rest of a request after its head; malformed ones are as common as valid ones. */
function requestParts(head: string, random: SeededRandom): (string | Buffer)[] {
  const body = JSON.stringify({
    model: "claude-sonnet-4-5",
    messages: [],
    pad: random.text(random.integer(0, 400)),
  });
  const big = Buffer.alloc(random.integer(1, 400_000), "x");
  const chunked = `${head}Transfer-Encoding: chunked\r\n\r\n`;
  return random.pick<(string | Buffer)[]>([
    [`${head}Content-Length: ${body.length}\r\n\r\n`, body.slice(0, 20), body.slice(20)],
    [`${head}Content-Length: ${big.length}\r\n\r\n`, big.subarray(0, 9), big.subarray(9)],
    [chunked, chunk(body), "0\r\n\r\n"],
    [chunked, `${chunk(body)}0\r\n`, "no trailer\r\n\r\n"],
    [chunked, `${chunk(body)}0\r\n`, "bad trailer: \u0001\r\n\r\n"],
    [chunked, chunk(body), "zz\r\n"],
    [chunked, "fffffffffffffffff\r\n"],
    [chunked, "5\r\nhello", "no line end", "0\r\n\r\n"],
    [`${head}Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n`, "0\r\n\r\n"],
    [
      `${head}Content-Length: 2\r\n\r\n{}${head}Content-Length: 2\r\n\r\n{}`,
      `${head}Content-Length: 2\r\n\r\n{}`,
    ],
    [
      `${head}Connection: Upgrade\r\nUpgrade: websocket\r\nContent-Length: 0\r\n\r\n`,
      "\u0081\u0005hello",
      big,
    ],
    [`${head}X: ${random.text(70_000)}`],
    [head.slice(0, random.integer(1, head.length)), head.slice(5)],
  ]);
}

function answerParts(random: SeededRandom): (string | Buffer)[] {
  const head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n";
  const chunked = `${head}Transfer-Encoding: chunked\r\n\r\n`;
  const big = Buffer.alloc(random.integer(1, 400_000), "y");
  return random.pick<(string | Buffer)[]>([
    [chunked, chunk(event), chunk(event), "0\r\n\r\n"],
    [chunked, chunk(event), "zz\r\n"],
    [`${head}Content-Length: ${big.length}\r\n\r\n`, big],
    [`${head}\r\n`, event, big],
    [`${head}Content-Length: 0\r\n\r\n`, `${head}Content-Length: 0\r\n\r\n`],
    [
      "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
      "\u0081\u0002ab",
      big,
    ],
    ["HTTP/1.1 100 Continue\r\n\r\n", `${head}Content-Length: 1\r\nContent-Length: 2\r\n\r\nab`],
    ["not HTTP\r\n\r\n"],
    ["HTTP/1.1 200 OK\r\n"],
  ]);
}

/** Reads from a socket up to the first empty line, or to its end. */
async function readHead(socket: Socket): Promise<string> {
  let head = "";
  const onData = (bytes: Buffer) => {
    head += bytes.toString("latin1");
  };
  socket.on("data", onData);
  while (!head.includes("\r\n\r\n") && !socket.destroyed && !socket.readableEnded) {
    await Promise.race([eventOrClose(socket, "data"), eventOrClose(socket, "end")]);
  }
  socket.off("data", onData);
  socket.pause();
  return head;
}

/** An upstream behind a parent proxy that ends connections in every phase, or serves them normally. */
interface Upstream {
  readonly url: string;
  readonly authority: CertificateAuthority;
  /** Null for the well-behaved one. */
  random: SeededRandom | null;
  /** Resets all connections, so that those end whose client said FIN: the proxy waits long for an answer to them. */
  reset(): void;
  close(): Promise<void>;
}

async function openUpstream(): Promise<Upstream> {
  const authority = await createCertificateAuthority();
  const secureContext = await authority.secureContext(tlsHost);
  const sockets = new Set<Socket>();
  const reset = () => {
    for (const socket of sockets) resetSocket(socket);
  };

  const serve = (side: Side, random: SeededRandom | null) => {
    side.stream.on("error", () => {});
    side.stream.once("data", () => {
      if (random !== null) return void play(side, answerParts(random), random);
      const body = JSON.stringify({
        type: "message",
        model: "claude-sonnet-4-5",
        usage: { input_tokens: 1, output_tokens: 1 },
      });
      side.stream.end(
        `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
      );
    });
    side.stream.resume();
  };

  const upstream = { authority, random: null as SeededRandom | null };
  const server = createServer({ allowHalfOpen: true, noDelay: true }, async (socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
    socket.on("close", () => sockets.delete(socket));
    const { random } = upstream;
    const head = await readHead(socket);
    if (socket.destroyed) return;
    if (random?.integer(0, 9) === 0) return end({ stream: socket, bottom: socket }, random);
    if (!head.startsWith("CONNECT ")) {
      socket.unshift(Buffer.from(head, "latin1"));
      return serve({ stream: socket, bottom: socket }, random);
    }
    if (random?.integer(0, 9) === 0) return void socket.end("HTTP/1.1 502 Bad Gateway\r\n\r\n");
    socket.write("HTTP/1.1 200 Connection established\r\n\r\n");
    if (random?.integer(0, 9) === 0) return end({ stream: socket, bottom: socket }, random);
    if (!head.startsWith(`CONNECT ${tlsHost}`)) return serve({ stream: socket, bottom: socket }, random);
    const tls = new TLSSocket(socket, { isServer: true, secureContext, ALPNProtocols: ["http/1.1"] });
    registerTlsStream(socket, tls);
    tls.on("_tlsError", () => {});
    if (random?.integer(0, 9) === 0) setImmediate(() => end({ stream: tls, bottom: socket }, random));
    serve({ stream: tls, bottom: socket }, random);
  });
  const port = await listen(server);
  return Object.assign(upstream, {
    url: `http://127.0.0.1:${port}`,
    reset,
    async close() {
      reset();
      await new Promise((resolve) => server.close(resolve));
    },
  });
}

/** What a client sends next, and on which stream. */
interface Opened {
  readonly stream: Socket;
  readonly parts: readonly (string | Buffer)[];
}

const maybeLogin = (random: SeededRandom) => (random.integer(0, 12) === 0 ? "" : login);

async function askForTunnel(socket: Socket, authority: string, random: SeededRandom): Promise<void> {
  socket.write(`CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\n${maybeLogin(random)}\r\n`);
  if (random.integer(0, 15) === 0) setImmediate(() => end({ stream: socket, bottom: socket }, random));
  else await eventOrClose(socket, "data");
}

/** The ways of using the proxy, each on a new connection. */
const ways: Readonly<
  Record<string, (socket: Socket, meter: MeterProcess, random: SeededRandom) => Opened | Promise<Opened>>
> = {
  async intercepted(socket, meter, random) {
    await askForTunnel(socket, `${tlsHost}:443`, random);
    const parts = requestParts(`POST /v1/messages HTTP/1.1\r\nHost: ${tlsHost}\r\n`, random);
    if (socket.destroyed) return { stream: socket, parts };
    const stream = connectTls({ socket, servername: tlsHost, ca: meter.caPem, ALPNProtocols: ["http/1.1"] });
    registerTlsStream(socket, stream);
    stream.on("error", () => {});
    if (random.integer(0, 5) === 0) setImmediate(() => end({ stream, bottom: socket }, random));
    else await eventOrClose(stream, "secureConnect");
    return { stream, parts };
  },
  async "not TLS"(socket, _, random) {
    await askForTunnel(socket, `${tlsHost}:443`, random);
    const hello = Buffer.from([22, 3, 1, 2, 0, 1, 0, 1, 252, 3, 3]);
    return { stream: socket, parts: random.pick([[hello, hello], ["GET / HTTP/1.1\r\n\r\n"], []]) };
  },
  async tunnel(socket, _, random) {
    await askForTunnel(socket, "other.test:443", random);
    return { stream: socket, parts: ["any", "bytes", Buffer.alloc(random.integer(1, 300_000))] };
  },
  gateway(socket, meter, random) {
    const host = random.integer(0, 15) === 0 ? "elsewhere.test" : `127.0.0.1:${meter.proxyPort}`;
    const head = `POST /anthropic/v1/messages HTTP/1.1\r\nHost: ${host}\r\n${maybeLogin(random)}`;
    return { stream: socket, parts: requestParts(head, random) };
  },
  absolute(socket, _, random) {
    const host = random.pick([plainHost, "other.test"]);
    const head = `POST http://${host}/v1/messages HTTP/1.1\r\nHost: ${host}\r\n${maybeLogin(random)}`;
    return { stream: socket, parts: requestParts(head, random) };
  },
  refused(socket, meter, random) {
    const first = random.pick([
      "\u0016\u0003\u0001",
      `CONNECT 127.0.0.1:${meter.apiPort} HTTP/1.1\r\n${login}\r\n`,
      "CONNECT nowhere HTTP/1.1\r\n\r\n",
      `GET /nothing HTTP/1.1\r\nHost: a\r\n${login}\r\n`,
      "GET / HTTP/1.1\r\nHost : a\r\n\r\n",
    ]);
    return { stream: socket, parts: [first, "more", Buffer.alloc(random.integer(1, 100_000))] };
  },
};

async function dial(meter: MeterProcess): Promise<Socket> {
  const socket = connect({ port: meter.proxyPort, host: "127.0.0.1", noDelay: true, allowHalfOpen: true });
  socket.on("error", () => {});
  await eventOrClose(socket, "connect");
  return socket;
}

/** How long a client waits on one connection before it resets it, in milliseconds. */
const patienceMs = 150;

async function attack(meter: MeterProcess, seed: string): Promise<void> {
  const random = createSeededRandom(seed);
  const bottom = await dial(meter);
  const impatience = setTimeout(() => resetSocket(bottom), random.integer(1, patienceMs));
  const { stream, parts } = await random.pick(Object.values(ways))(bottom, meter, random);
  stream.on("error", () => {});
  stream.resume();
  await play({ stream, bottom }, parts, random);
  await eventOrClose(bottom, "close");
  clearTimeout(impatience);
}

/** A daemon in a separate process between misbehaving clients and upstreams. */
export interface RelayFuzz {
  readonly meter: MeterProcess;
  /** Runs this number of connections, several at a time. Rejects as soon as the daemon has exited. */
  run(connections: number): Promise<void>;
  /** Makes one call through each way that leads to the provider, and rejects unless both are answered and recorded. */
  assertServes(): Promise<void>;
  /** Waits until the daemon has no more sockets than at its start. */
  socketsClosed(): Promise<void>;
  close(): Promise<void>;
}

const atOnce = 24;

export async function openRelayFuzz(seed: string): Promise<RelayFuzz> {
  const upstream = await openUpstream();
  const home = createHome(["[proxy]"]);
  const caFile = `${home}/provider.pem`;
  writeFileSync(caFile, upstream.authority.certificatePem);
  createHome(
    [
      "[proxy]",
      "port = 0",
      `password = "${password}"`,
      `parent = ${JSON.stringify(upstream.url)}`,
      `extra_ca = ${JSON.stringify(caFile)}`,
      "[api]",
      "port = 0",
      "[[providers]]",
      `host = "${plainHost}"`,
      "port = 80",
      'provider = "anthropic"',
      'api = "anthropic"',
    ],
    home,
  );
  const meter = await startMeter(home);
  /** Counts the daemon's TCP sockets, without those to its own child processes. */
  const socketCount = () => {
    const rows = ["tcp", "tcp6"].flatMap((table) =>
      readFileSync(`/proc/net/${table}`, "utf8").split("\n").slice(1),
    );
    const inodes = new Set(rows.map((row) => row.trim().split(/\s+/)[9]));
    return readdirSync(`/proc/${meter.pid}/fd`).filter((fd) => {
      try {
        const [, inode] = /^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/${meter.pid}/fd/${fd}`)) ?? [];
        return inode !== undefined && inodes.has(inode);
      } catch {
        return false;
      }
    }).length;
  };
  const socketsAtStart = process.platform === "linux" ? socketCount() : 0;
  let attacks = 0;

  const died = meter.ended.then(({ code, stderr }) => {
    throw new Error(
      `the daemon ended with ${code ?? "a signal"} after ${attacks} connections: ${stderr.slice(-500)}`,
    );
  });
  died.catch(() => {});

  return {
    meter,
    async run(connections) {
      upstream.random = createSeededRandom(`${seed} upstream`);
      const until = attacks + connections;
      const worker = async () => {
        while (attacks < until) await attack(meter, `${seed} ${(attacks += 1)}`);
      };
      await Promise.race([died, Promise.all(Array.from({ length: atOnce }, worker))]);
    },
    async assertServes() {
      upstream.random = null;
      upstream.reset(); // including spares of the daemon, which would still be answered by an attack
      const before = (await meter.rows()).filter(
        ({ httpStatus, errorClass }) => httpStatus === 200 && errorClass === null,
      );
      const body = "{}";
      const rest = `${login}Content-Length: ${body.length}\r\n\r\n${body}`;
      const gateway = await dial(meter);
      gateway.write(`POST /anthropic/v1/messages HTTP/1.1\r\nHost: 127.0.0.1:${meter.proxyPort}\r\n${rest}`);
      await assertAnswered("gateway", gateway);
      const socket = await dial(meter);
      socket.write(`CONNECT ${tlsHost}:443 HTTP/1.1\r\n${login}\r\n`);
      await once(socket, "data");
      const tls = connectTls({ socket, servername: tlsHost, ca: meter.caPem, ALPNProtocols: ["http/1.1"] });
      registerTlsStream(socket, tls);
      await once(tls, "secureConnect");
      tls.write(`POST /v1/messages HTTP/1.1\r\nHost: ${tlsHost}\r\n${rest}`);
      await assertAnswered("intercepted", tls);
      await Promise.race([
        died,
        waitFor("two rows more", async () => {
          const rows = await meter.rows();
          const good = rows.filter(({ httpStatus, errorClass }) => httpStatus === 200 && errorClass === null);
          return good.length >= before.length + 2;
        }),
      ]);
    },
    async socketsClosed() {
      if (process.platform !== "linux") return;
      await waitFor("the daemon's sockets to be closed", () => {
        upstream.reset(); // including those that the daemon has opened since
        return socketCount() <= socketsAtStart;
      });
    },
    async close() {
      await upstream.close();
      await meter.stop();
      removeHome(home);
    },
  };
}

async function assertAnswered(way: string, socket: Socket): Promise<void> {
  const { bytes } = receive(socket);
  await eventOrClose(socket, "end");
  closeSocket(socket);
  const answer = bytes().toString("latin1");
  if (!answer.startsWith("HTTP/1.1 200 OK")) throw new Error(`${way}: ${answer.slice(0, 200)}`);
}
