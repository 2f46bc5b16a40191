import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { connect as connectTls, type TLSSocket } from "node:tls";
import type { createSeededRandom } from "../simulation/seeded-random.ts";

type Random = ReturnType<typeof createSeededRandom>;

/** Everything that a socket received until it closed, and how it closed. */
interface Received {
  bytes: Buffer;
  error: string | null;
}

/** Collects bytes from this point on. Resolves when the socket is closed. */
export function receive(socket: Socket): { bytes(): Buffer; over: Promise<Received> } {
  const pieces: Buffer[] = [];
  let error: string | null = null;
  socket.on("data", (piece: Buffer) => pieces.push(piece));
  socket.on("error", (cause: NodeJS.ErrnoException) => (error = cause.code ?? cause.message));
  const bytes = () => Buffer.concat(pieces);
  const over = new Promise<Received>((resolve) => {
    const done = () => resolve({ bytes: bytes(), error });
    if (socket.destroyed) done();
    else socket.once("close", done);
  });
  return { bytes, over };
}

/** Connects to a local port. */
export async function dialTcp(port: number): Promise<Socket> {
  const socket = connect({ port, host: "127.0.0.1", noDelay: true });
  await once(socket, "connect");
  return socket;
}

/** Requests a tunnel and returns the proxy's response. */
export async function askForTunnel(
  proxyPort: number,
  authority: string,
): Promise<{ socket: Socket; head: string }> {
  const socket = await dialTcp(proxyPort);
  socket.write(`CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\n\r\n`);
  let bytes = Buffer.alloc(0);
  let end = -1;
  for await (const piece of socket.iterator({ destroyOnReturn: false })) {
    bytes = Buffer.concat([bytes, piece]);
    end = bytes.indexOf("\r\n\r\n");
    if (end !== -1) break;
  }
  if (end === -1) return { socket, head: bytes.toString() };
  const head = bytes.subarray(0, end + 4).toString();
  // The bytes of a server that speaks first may be in the same piece.
  if (bytes.length > end + 4) socket.unshift(bytes.subarray(end + 4));
  return { socket, head };
}

/** Opens TLS to a provider through the proxy, as a client that trusts the meter's authority. `abort` is a TCP reset. */
export async function dialProvider(
  meter: { proxyPort: number; caPem: string },
  host: string,
): Promise<TLSSocket & { transport: Socket; abort(): void }> {
  const { socket, head } = await askForTunnel(meter.proxyPort, `${host}:443`);
  if (!head.startsWith("HTTP/1.1 200 ")) throw new Error(`no tunnel to ${host}: ${head}`);
  const tls = connectTls({ socket, servername: host, ca: meter.caPem, ALPNProtocols: ["http/1.1"] });
  await once(tls, "secureConnect");
  return Object.assign(tls, { transport: socket, abort: () => void socket.resetAndDestroy() });
}

/** Writes the bytes in pieces of any size, each in its own turn. */
export async function writeInPieces(socket: Socket, bytes: Buffer, random: Random): Promise<void> {
  const most = random.pick([3, 40, 700, 20_000]);
  for (let at = 0; at < bytes.length && !socket.destroyed; ) {
    // Small pieces for heads and short bodies; long bodies would take too long in pieces of three bytes.
    const length = random.integer(1, Math.max(most, Math.ceil(bytes.length / 200)));
    await new Promise<void>((resolve) => socket.write(bytes.subarray(at, at + length), () => resolve()));
    at += length;
  }
}

/** One request to a simulated provider. */
export interface RawCall {
  host: string;
  path: string;
  body: object;
}

/** The calls by API. The scenario decides how the provider treats them. */
export const rawCalls: Readonly<Record<string, (scenario: string, stream: boolean) => RawCall>> = {
  anthropic: (scenario, stream) => ({
    host: "api.anthropic.com",
    path: "/v1/messages",
    body: { model: "claude-sonnet-4-5", max_tokens: 64, stream, messages: [user(scenario)] },
  }),
  chat: (scenario, stream) => ({
    host: "api.openai.com",
    path: "/v1/chat/completions",
    body: {
      model: "gpt-5",
      stream,
      ...(stream ? { stream_options: { include_usage: true } } : {}),
      messages: [user(scenario)],
    },
  }),
  responses: (scenario, stream) => ({
    host: "api.openai.com",
    path: "/v1/responses",
    body: { model: "gpt-5", stream, input: `Say — in Zürich 🧮. scenario: ${scenario}` },
  }),
  "gemini events": (scenario, stream) => ({
    host: "generativelanguage.googleapis.com",
    path: `/v1beta/models/gemini-2.5-pro:${stream ? "streamGenerateContent?alt=sse&key=hidden" : "generateContent"}`,
    body: { contents: [{ parts: [{ text: `scenario: ${scenario}` }] }] },
  }),
  "gemini array": (scenario, stream) => ({
    host: "generativelanguage.googleapis.com",
    path: `/v1beta/models/gemini-2.5-flash:${stream ? "streamGenerateContent" : "generateContent"}`,
    body: { contents: [{ parts: [{ text: `scenario: ${scenario}` }] }] },
  }),
  openrouter: (scenario, stream) => ({
    host: "openrouter.ai",
    path: "/api/v1/chat/completions",
    body: { model: "anthropic/claude-sonnet-4.5", stream, messages: [user(scenario)] },
  }),
};

function user(scenario: string) {
  return { role: "user", content: `Say — in Zürich 🧮. scenario: ${scenario}` };
}

/** The forms of a request: its header lines and framing differ, its content does not. */
export function writeRequest(call: RawCall, last: boolean, random: Random): Buffer {
  const body = Buffer.from(JSON.stringify(call.body, null, random.pick([0, 2])));
  const name = (text: string) => random.pick([text, text.toLowerCase(), text.toUpperCase()]);
  const chunked = random.pick([true, false]);
  const lines = [
    `POST ${call.path} HTTP/1.1`,
    `${name("Host")}:${random.pick([" ", "", "  "])}${call.host}`,
    `${name("Authorization")}: Bearer sk-raw-${random.text(20)}`,
    `${name("Accept-Encoding")}: gzip, br, zstd, deflate`,
    `${name("X-Twice")}: one`,
    `${name("X-Twice")}: two`,
    `X-Empty:`,
    `X-Latin: caf\u00e9`,
    `${name("Content-Type")}: application/json`,
    ...(random.integer(0, 4) === 0 ? ["Expect: 100-continue"] : []),
    chunked
      ? `${name("Transfer-Encoding")}: ${random.pick(["chunked", "Chunked"])}`
      : `${name("Content-Length")}: ${body.length}`,
    ...(last ? ["Connection: close"] : []),
  ];
  const head = Buffer.from(`${lines.join("\r\n")}\r\n\r\n`, "latin1");
  if (!chunked) return Buffer.concat([head, body]);
  const parts: Buffer[] = [head];
  for (let at = 0; at < body.length; ) {
    const piece = body.subarray(at, at + random.integer(1, 300));
    const size = piece.length.toString(16);
    parts.push(Buffer.from(`${random.pick([size, size.toUpperCase(), `0${size}`])}`));
    parts.push(Buffer.from(random.pick(["\r\n", ';ext="a;b"\r\n'])), piece, Buffer.from("\r\n"));
    at += piece.length;
  }
  parts.push(Buffer.from(`0\r\n${random.pick(["", "X-Sum: 1\r\n"])}\r\n`));
  return Buffer.concat(parts);
}
