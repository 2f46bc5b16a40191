import type { Socket } from "node:net";
import type { Transform } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import { createBrotliCompress, createDeflate, createGzip, createZstdCompress, type Zlib } from "node:zlib";
import { type Answer, noUsage, type StatedUsage } from "./answer.ts";
import type { DeliveryMode, Scenario } from "./scenario.ts";
import type { SeededRandom } from "./seeded-random.ts";
import type { Delivery } from "./simulated-call.ts";

type Coding = Extract<DeliveryMode, "gzip" | "br" | "zstd" | "deflate">;
const codings: readonly Coding[] = ["gzip", "br", "zstd", "deflate"];

/** Pause after each piece of a `drip`, in milliseconds. */
const dripMs = 2;

/** What was written of a response. Updated while it is sent. */
export interface SentAnswer {
  stated: StatedUsage;
  delivery: Delivery;
  contentEncoding: Coding | null;
  plain: Buffer;
  encoded: Buffer;
  /** Whether the connection cannot be reused. */
  closes: boolean;
}

export interface SendTarget {
  /** The TLS or plain socket. */
  socket: Socket;
  /** Destroys the underlying TCP socket, with a reset if `reset` is true. */
  destroy(reset: boolean): void;
  write(bytes: Buffer): Promise<boolean>;
}

/** Encodes, frames and writes a response. Resolves when its last byte was passed to the operating system. */
export async function sendAnswer(
  target: SendTarget,
  answer: Answer,
  request: { acceptEncoding: string },
  scenario: Scenario,
  random: SeededRandom,
): Promise<SentAnswer> {
  const { deliveryModes } = scenario;
  const coding =
    codings.find((name) => deliveryModes.has(name) && acceptsEncoding(request.acceptEncoding, name)) ?? null;
  const plainParts = answer.parts.map((part) => Buffer.from(part.text));
  const encodedParts = coding === null ? plainParts : await encodeParts(plainParts, coding);
  const whole = answer.parts.length === 1 && !answer.streaming;
  const framing = deliveryModes.has("until-close")
    ? "until-close"
    : deliveryModes.has("chunked") ||
        (!whole && !deliveryModes.has("length")) ||
        deliveryModes.has("trailers")
      ? "chunked"
      : "length";
  const total = encodedParts.reduce((sum, part) => sum + part.length, 0);
  const sent: SentAnswer = {
    stated: noUsage,
    delivery: "whole",
    contentEncoding: coding,
    plain: Buffer.alloc(0),
    encoded: Buffer.alloc(0),
    closes: framing === "until-close",
  };

  if (deliveryModes.has("hints") && !(await target.write(earlyHints))) return clientGone(sent);
  const head = [
    `HTTP/1.1 ${answer.status} ${reasonPhrase(answer.status)}`,
    `Date: ${new Date().toUTCString()}`,
    ...answer.headers.map(([name, value]) => `${name}: ${value}`),
    ...(coding === null ? [] : [`Content-Encoding: ${coding}`, "Vary: Accept-Encoding"]),
    framing === "chunked" ? "Transfer-Encoding: chunked" : null,
    framing === "length" ? `Content-Length: ${total}` : null,
    deliveryModes.has("trailers") ? "Trailer: x-simulation-end" : null,
    framing === "until-close" ? "Connection: close" : "Connection: keep-alive",
  ].filter((line) => line !== null);
  if (!(await target.write(Buffer.from(`${head.join("\r\n")}\r\n\r\n`, "latin1")))) return clientGone(sent);

  // A truncated response ends in the middle of a part, after about 60 % of the parts; a body of one part ends halfway.
  const isBroken = ["cut", "reset", "early-fin"].includes(scenario.outcome);
  const wholeParts = isBroken
    ? Math.min(Math.floor(answer.parts.length * 0.6), answer.parts.length - 1)
    : Infinity;
  const plainSent: Buffer[] = [];
  const encodedSent: Buffer[] = [];
  const updateSent = () => {
    sent.plain = Buffer.concat(plainSent);
    sent.encoded = Buffer.concat(encodedSent);
  };
  for (const [index, part] of answer.parts.entries()) {
    const broken = index >= wholeParts;
    const plain = plainParts[index]!;
    const encoded = encodedParts[index]!;
    const bytes = broken ? encoded.subarray(0, Math.ceil(encoded.length / 2)) : encoded;
    if (!(await writeBody(target, bytes, framing === "chunked", deliveryModes, random))) {
      updateSent();
      return clientGone(sent);
    }
    encodedSent.push(bytes);
    if (broken) {
      plainSent.push(coding === null ? plain.subarray(0, bytes.length) : Buffer.alloc(0));
      updateSent();
      return truncateAnswer(target, scenario, sent);
    }
    plainSent.push(plain);
    if (part.stated !== undefined) sent.stated = part.stated;
  }
  updateSent();
  const trailer = deliveryModes.has("trailers") ? "x-simulation-end: yes\r\n" : "";
  if (framing === "chunked" && !(await target.write(Buffer.from(`0\r\n${trailer}\r\n`))))
    return clientGone(sent);
  if (framing === "until-close") target.socket.end();
  return sent;
}

const earlyHints = Buffer.from(
  "HTTP/1.1 103 Early Hints\r\nLink: </style.css>; rel=preload; as=style\r\n\r\n",
);

function clientGone(sent: SentAnswer): SentAnswer {
  return { ...sent, delivery: "client_gone", closes: true };
}

async function truncateAnswer(target: SendTarget, scenario: Scenario, sent: SentAnswer): Promise<SentAnswer> {
  if (scenario.outcome === "early-fin") target.socket.end();
  else {
    // A reset discards bytes that the client has not read yet, so give it time to read them.
    await delay(20);
    target.destroy(scenario.outcome === "reset");
  }
  return { ...sent, delivery: "cut", closes: true };
}

async function writeBody(
  target: SendTarget,
  bytes: Buffer,
  chunked: boolean,
  deliveryModes: ReadonlySet<DeliveryMode>,
  random: SeededRandom,
): Promise<boolean> {
  if (bytes.length === 0) return true;
  const shredded = deliveryModes.has("shredded");
  const chunks = shredded ? splitRandomly(bytes, random) : [bytes];
  const framed = chunked
    ? Buffer.concat(
        chunks.flatMap((chunk) => [
          Buffer.from(`${chunk.length.toString(16)}\r\n`),
          chunk,
          Buffer.from("\r\n"),
        ]),
      )
    : bytes;
  for (const piece of shredded ? splitRandomly(framed, random) : [framed]) {
    if (!(await target.write(piece))) return false;
    if (deliveryModes.has("drip")) await delay(dripMs);
    else if (shredded) await new Promise(setImmediate);
  }
  return true;
}

function splitRandomly(bytes: Buffer, random: SeededRandom): Buffer[] {
  const pieces: Buffer[] = [];
  // Small bodies are sometimes split into single bytes; large ones are never split into millions of pieces.
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

/** Encodes the parts as one stream, flushed after each part so that a client can decode every received part. */
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
