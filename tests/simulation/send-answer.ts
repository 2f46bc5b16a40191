import type { Socket } from "node:net";
import type { Transform } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import { createBrotliCompress, createDeflate, createGzip, createZstdCompress, type Zlib } from "node:zlib";
import { type Answer, nothingStated, type Stated } from "./answer.ts";
import type { Delivery } from "./ledger.ts";
import type { Manner, Scenario } from "./scenario.ts";
import type { SeededRandom } from "./seeded-random.ts";

type Coding = Extract<Manner, "gzip" | "br" | "zstd" | "deflate">;
const codings: readonly Coding[] = ["gzip", "br", "zstd", "deflate"];

/** Pause after each piece of a `drip`. */
const dripMs = 2;

/** What has been written, for the ledger. It grows while the answer is under way. */
export interface Sent {
  stated: Stated;
  delivery: Delivery;
  contentEncoding: Coding | null;
  plain: Buffer;
  encoded: Buffer;
  /** The connection can't carry another answer. */
  closes: boolean;
}

export interface SendTarget {
  /** TLS or plain; what it hears it writes. */
  socket: Socket;
  /** Destroys the TCP socket below, with a reset if asked to. */
  destroy(reset: boolean): void;
  write(bytes: Buffer): Promise<boolean>;
}

/** Encodes, frames and writes one answer; returns when its last byte has been handed to the system. */
export async function sendAnswer(
  target: SendTarget,
  answer: Answer,
  request: { acceptEncoding: string },
  scenario: Scenario,
  random: SeededRandom,
): Promise<Sent> {
  const manners = scenario.manners;
  const coding =
    codings.find((name) => manners.has(name) && acceptsEncoding(request.acceptEncoding, name)) ?? null;
  const plainParts = answer.parts.map((part) => Buffer.from(part.text));
  const encodedParts = coding === null ? plainParts : await encodeParts(plainParts, coding);
  const whole = answer.parts.length === 1 && !answer.streaming;
  const framing = manners.has("until-close")
    ? "until-close"
    : manners.has("chunked") || (!whole && !manners.has("length")) || manners.has("trailers")
      ? "chunked"
      : "length";
  const total = encodedParts.reduce((sum, part) => sum + part.length, 0);
  const sent: Sent = {
    stated: nothingStated,
    delivery: "whole",
    contentEncoding: coding,
    plain: Buffer.alloc(0),
    encoded: Buffer.alloc(0),
    closes: framing === "until-close",
  };

  if (manners.has("hints") && !(await target.write(earlyHints))) return gone(sent);
  const head = [
    `HTTP/1.1 ${answer.status} ${reasonPhrase(answer.status)}`,
    `Date: ${new Date().toUTCString()}`,
    ...answer.headers.map(([name, value]) => `${name}: ${value}`),
    ...(coding === null ? [] : [`Content-Encoding: ${coding}`, "Vary: Accept-Encoding"]),
    framing === "chunked" ? "Transfer-Encoding: chunked" : null,
    framing === "length" ? `Content-Length: ${total}` : null,
    manners.has("trailers") ? "Trailer: x-simulation-end" : null,
    framing === "until-close" ? "Connection: close" : "Connection: keep-alive",
  ].filter((line) => line !== null);
  if (!(await target.write(Buffer.from(`${head.join("\r\n")}\r\n\r\n`, "latin1")))) return gone(sent);

  // A broken answer ends in the middle of a part, about three fifths in; a body of one part, halfway.
  const breaks = ["cut", "reset", "early-fin"].includes(scenario.outcome);
  const wholeParts = breaks
    ? Math.min(Math.floor(answer.parts.length * 0.6), answer.parts.length - 1)
    : Infinity;
  const plainSent: Buffer[] = [];
  const encodedSent: Buffer[] = [];
  const note = () => {
    sent.plain = Buffer.concat(plainSent);
    sent.encoded = Buffer.concat(encodedSent);
  };
  for (const [index, part] of answer.parts.entries()) {
    const broken = index >= wholeParts;
    const plain = plainParts[index]!;
    const encoded = encodedParts[index]!;
    const bytes = broken ? encoded.subarray(0, Math.ceil(encoded.length / 2)) : encoded;
    if (!(await writeBody(target, bytes, framing === "chunked", manners, random))) {
      note();
      return gone(sent);
    }
    encodedSent.push(bytes);
    if (broken) {
      plainSent.push(coding === null ? plain.subarray(0, bytes.length) : Buffer.alloc(0));
      note();
      return breakOff(target, scenario, sent);
    }
    plainSent.push(plain);
    if (part.stated !== undefined) sent.stated = part.stated;
  }
  note();
  const trailer = manners.has("trailers") ? "x-simulation-end: yes\r\n" : "";
  if (framing === "chunked" && !(await target.write(Buffer.from(`0\r\n${trailer}\r\n`)))) return gone(sent);
  if (framing === "until-close") target.socket.end();
  return sent;
}

const earlyHints = Buffer.from(
  "HTTP/1.1 103 Early Hints\r\nLink: </style.css>; rel=preload; as=style\r\n\r\n",
);

function gone(sent: Sent): Sent {
  return { ...sent, delivery: "client_gone", closes: true };
}

async function breakOff(target: SendTarget, scenario: Scenario, sent: Sent): Promise<Sent> {
  if (scenario.outcome === "early-fin") target.socket.end();
  else {
    // A reset takes back what lies unread at the other side: give it time to be read.
    await delay(20);
    target.destroy(scenario.outcome === "reset");
  }
  return { ...sent, delivery: "cut", closes: true };
}

async function writeBody(
  target: SendTarget,
  bytes: Buffer,
  chunked: boolean,
  manners: ReadonlySet<Manner>,
  random: SeededRandom,
): Promise<boolean> {
  if (bytes.length === 0) return true;
  const shredded = manners.has("shredded");
  const chunks = shredded ? cutAnywhere(bytes, random) : [bytes];
  const framed = chunked
    ? Buffer.concat(
        chunks.flatMap((chunk) => [
          Buffer.from(`${chunk.length.toString(16)}\r\n`),
          chunk,
          Buffer.from("\r\n"),
        ]),
      )
    : bytes;
  for (const piece of shredded ? cutAnywhere(framed, random) : [framed]) {
    if (!(await target.write(piece))) return false;
    if (manners.has("drip")) await delay(dripMs);
    else if (shredded) await new Promise(setImmediate);
  }
  return true;
}

function cutAnywhere(bytes: Buffer, random: SeededRandom): Buffer[] {
  const pieces: Buffer[] = [];
  // Small bodies are cut to single bytes now and then, big ones not into millions of pieces.
  const most = Math.max(40, Math.ceil(bytes.length / 200));
  for (let at = 0; at < bytes.length; ) {
    const length = random.integer(1, most);
    pieces.push(bytes.subarray(at, at + length));
    at += length;
  }
  return pieces;
}

function acceptsEncoding(header: string, coding: string): boolean {
  return header
    .toLowerCase()
    .split(",")
    .some((item) => item.trim().split(";")[0] === coding);
}

/** Encodes the parts as one stream that is flushed after each, so that a client can decode what it has. */
async function encodeParts(parts: readonly Buffer[], coding: Coding): Promise<Buffer[]> {
  const encoder = createEncoder(coding);
  const encoded: Buffer[] = [];
  let pending: Buffer[] = [];
  encoder.on("data", (bytes: Buffer) => pending.push(bytes));
  for (const part of parts) {
    await new Promise<void>((resolve, reject) => {
      encoder.once("error", reject);
      encoder.write(part);
      encoder.flush(() => {
        encoder.off("error", reject);
        resolve();
      });
    });
    encoded.push(Buffer.concat(pending));
    pending = [];
  }
  await new Promise<void>((resolve) => {
    encoder.once("end", resolve);
    encoder.end();
  });
  const last = encoded.pop() ?? Buffer.alloc(0);
  encoded.push(Buffer.concat([last, ...pending]));
  return encoded;
}

function createEncoder(coding: Coding): Transform & Zlib {
  switch (coding) {
    case "gzip":
      return createGzip();
    case "deflate":
      return createDeflate();
    case "br":
      return createBrotliCompress();
    case "zstd":
      return createZstdCompress();
  }
}

function reasonPhrase(status: number): string {
  const phrases: Readonly<Record<number, string>> = {
    200: "OK",
    400: "Bad Request",
    401: "Unauthorized",
    402: "Payment Required",
    403: "Forbidden",
    404: "Not Found",
    429: "Too Many Requests",
    500: "Internal Server Error",
    502: "Bad Gateway",
    503: "Service Unavailable",
    529: "",
  };
  return phrases[status] ?? "";
}
