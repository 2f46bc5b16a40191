import { Buffer } from "node:buffer";
import * as zlib from "node:zlib";

const encoder = new TextEncoder();

export const utf8 = (text: string): Uint8Array => encoder.encode(text);

export const concat = (...parts: readonly Uint8Array[]): Uint8Array => new Uint8Array(Buffer.concat(parts));

/** What is sent after a request, before it is framed. */
export interface Reply {
  status: number;
  headers: readonly (readonly [name: string, value: string])[];
  /** The body in the pieces in which a server would send it; with chunked framing, each becomes a chunk. */
  pieces: readonly Uint8Array[];
  streams: boolean;
  framing: "length" | "chunked" | "close";
  /** Encodings of the body, in the order in which they are applied. */
  encodings: readonly Encoding[];
  /** How many bytes of the encoded body are sent before the connection ends; null for all. */
  cutAt: number | null;
  /** Interim responses before the head. */
  before: string;
  /** Trailer fields of a chunked body. */
  trailers: string;
}

export type Encoding = "gzip" | "deflate" | "deflate-raw" | "br" | "zstd";
export type ReplyOptions = Partial<Omit<Reply, "pieces">>;

const reply = (pieces: readonly Uint8Array[], options: ReplyOptions): Reply => ({
  status: 200,
  headers: [["Content-Type", "application/json"]],
  streams: false,
  framing: "length",
  encodings: [],
  cutAt: null,
  before: "",
  trailers: "",
  ...options,
  pieces,
});

/** A whole JSON body; a string is sent unchanged, so that its spacing and numbers stay. */
export const json = (body: unknown, options: ReplyOptions = {}): Reply =>
  reply([utf8(typeof body === "string" ? body : JSON.stringify(body))], options);

/** Any body. */
export const raw = (pieces: readonly (string | Uint8Array)[], options: ReplyOptions = {}): Reply =>
  reply(
    pieces.map((piece) => (typeof piece === "string" ? utf8(piece) : piece)),
    options,
  );

const EVENT_STREAM: ReplyOptions = {
  headers: [["Content-Type", "text/event-stream; charset=utf-8"]],
  streams: true,
  framing: "chunked",
};

/** Server-sent events without names, as OpenAI and Gemini send them; a string is the data itself. */
export const sse = (events: readonly unknown[], options: ReplyOptions = {}): Reply =>
  raw(
    events.map((event) => `data: ${typeof event === "string" ? event : JSON.stringify(event)}\n\n`),
    { ...EVENT_STREAM, ...options },
  );

/** Server-sent events named after their `type`, as Anthropic and Responses send them. */
export const namedSse = (
  events: readonly { type: string; [member: string]: unknown }[],
  options: ReplyOptions = {},
): Reply =>
  raw(
    events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`),
    { ...EVENT_STREAM, ...options },
  );

/** Lines of JSON. */
export const ndjson = (lines: readonly unknown[], options: ReplyOptions = {}): Reply =>
  raw(
    lines.map((line) => `${JSON.stringify(line)}\n`),
    { headers: [["Content-Type", "application/x-ndjson"]], streams: true, framing: "chunked", ...options },
  );

const REASONS: Readonly<Record<number, string>> = {
  200: "OK",
  400: "Bad Request",
  401: "Unauthorized",
  402: "Payment Required",
  403: "Forbidden",
  404: "Not Found",
  409: "Conflict",
  413: "Content Too Large",
  422: "Unprocessable Content",
  424: "Failed Dependency",
  429: "Too Many Requests",
  500: "Internal Server Error",
  502: "Bad Gateway",
  503: "Service Unavailable",
  504: "Gateway Timeout",
  529: "Site is overloaded",
};

export function encode(body: Uint8Array, encoding: Encoding): Uint8Array {
  switch (encoding) {
    case "gzip":
      return new Uint8Array(zlib.gzipSync(body));
    case "deflate":
      return new Uint8Array(zlib.deflateSync(body));
    case "deflate-raw":
      return new Uint8Array(zlib.deflateRawSync(body));
    case "br":
      return new Uint8Array(zlib.brotliCompressSync(body));
    case "zstd":
      return new Uint8Array(zlib.zstdCompressSync(body));
  }
}

export function chunk(piece: Uint8Array): Uint8Array {
  return concat(utf8(`${piece.length.toString(16)}\r\n`), piece, utf8("\r\n"));
}

/** The reply as bytes on the wire. */
export function responseBytes(reply: Reply): Uint8Array {
  let { pieces } = reply;
  for (const encoding of reply.encodings) pieces = [encode(concat(...pieces), encoding)];
  const whole = concat(...pieces).length;
  const codings = reply.encodings.map((encoding) => (encoding === "deflate-raw" ? "deflate" : encoding));
  const head = [
    `HTTP/1.1 ${reply.status} ${REASONS[reply.status] ?? "Unknown"}`,
    ...reply.headers.map(([name, value]) => `${name}: ${value}`),
    ...(codings.length === 0 ? [] : [`Content-Encoding: ${codings.join(", ")}`]),
    ...(reply.framing === "length" ? [`Content-Length: ${whole}`] : []),
    ...(reply.framing === "chunked" ? ["Transfer-Encoding: chunked"] : []),
    ...(reply.framing === "close" ? ["Connection: close"] : []),
  ];
  const sent = reply.cutAt === null ? pieces : cut(pieces, reply.cutAt);
  const body = reply.framing === "chunked" ? sent.map(chunk) : sent;
  const isWhole = reply.cutAt === null;
  const last = reply.framing === "chunked" && isWhole ? utf8(`0\r\n${reply.trailers}\r\n`) : utf8("");
  return concat(utf8(`${reply.before}${head.join("\r\n")}\r\n\r\n`), ...body, last);
}

function cut(pieces: readonly Uint8Array[], at: number): Uint8Array[] {
  const kept: Uint8Array[] = [];
  let left = at;
  for (const piece of pieces) {
    if (left <= 0) break;
    kept.push(piece.subarray(0, left));
    left -= piece.length;
  }
  return kept;
}

/** Returns how many bytes the first `count` pieces have, to cut a stream between events. */
export const bytesOf = (reply: Reply, count: number): number =>
  concat(...reply.pieces.slice(0, count)).length;

/** One message of AWS's binary event stream (`application/vnd.amazon.eventstream`) with string headers. */
export function eventStreamMessage(headers: Readonly<Record<string, string>>, payload: unknown): Uint8Array {
  const body = utf8(typeof payload === "string" ? payload : JSON.stringify(payload));
  const head = concat(
    ...Object.entries(headers).map(([name, value]) => {
      const key = utf8(name);
      const text = utf8(value);
      return concat(
        Uint8Array.of(key.length),
        key,
        Uint8Array.of(7, text.length >> 8, text.length & 0xff),
        text,
      );
    }),
  );
  const prelude = new DataView(new ArrayBuffer(8));
  prelude.setUint32(0, 12 + head.length + body.length + 4);
  prelude.setUint32(4, head.length);
  const start = new Uint8Array(prelude.buffer);
  const withPrelude = concat(start, uint32(zlib.crc32(start)), head, body);
  return concat(withPrelude, uint32(zlib.crc32(withPrelude)));
}

function uint32(value: number): Uint8Array {
  const view = new DataView(new ArrayBuffer(4));
  view.setUint32(0, value);
  return new Uint8Array(view.buffer);
}

/** A frame of RFC 6455; a client's is masked. `opcode` 1 is text, 0 a continuation, 8 close, 9 ping. */
export function webSocketFrame(
  payload: Uint8Array,
  { opcode = 1, final = true, compressed = false, masked = false } = {},
): Uint8Array {
  const first = (final ? 0x80 : 0) | (compressed ? 0x40 : 0) | opcode;
  const mask = masked ? 0x80 : 0;
  const { length } = payload;
  const size =
    length < 126
      ? Uint8Array.of(first, mask | length)
      : length < 65536
        ? Uint8Array.of(first, mask | 126, length >> 8, length & 0xff)
        : concat(Uint8Array.of(first, mask | 127, 0, 0, 0, 0), uint32(length));
  if (!masked) return concat(size, payload);
  const key = Uint8Array.of(0x37, 0xfa, 0x21, 0x3d);
  return concat(
    size,
    key,
    payload.map((byte, at) => byte ^ (key[at % 4] as number)),
  );
}

/** The messages of one direction under permessage-deflate (RFC 7692), with one window for all or one for each. */
export function deflateMessages(messages: readonly Uint8Array[], contextTakeover: boolean): Uint8Array[] {
  return messages.map((message, index) => {
    // In raw DEFLATE, a preset dictionary is the content of the window: here the previous messages.
    const before = contextTakeover ? concat(...messages.slice(0, index)) : new Uint8Array();
    const deflated = zlib.deflateRawSync(message, {
      finishFlush: zlib.constants.Z_SYNC_FLUSH,
      ...(before.length > 0 && { dictionary: before }),
    });
    // Section 7.2.1: the empty block at the end of the flush is left out.
    return new Uint8Array(deflated.subarray(0, deflated.length - 4));
  });
}

/** The head of a request for a WebSocket; `extensions` is a header line or empty. */
export const upgradeRequest = (host: string, path: string, extensions: string): Uint8Array =>
  utf8(
    `GET ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n${extensions}\r\n`,
  );

/** The head of its response. */
export const upgradeAnswer = (extensions: string): Uint8Array =>
  utf8(
    `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n${extensions}\r\n`,
  );

/** A message as JSON. */
export const jsonText = (message: unknown): Uint8Array => utf8(JSON.stringify(message));

/** The frame with which a server closes the connection in order. */
export const closeFrame = webSocketFrame(Uint8Array.of(3, 232), { opcode: 8 });
