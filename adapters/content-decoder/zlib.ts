import { Buffer } from "node:buffer";
import type { Transform } from "node:stream";
import * as zlib from "node:zlib";
import type { ContentDecoder, DecodedSink, DecodingEnd } from "../../core/ports/content-decoder.ts";

/**
 * Maximum decoded size of a body, in bytes. Decoding is streamed, so this limits the CPU time that a decompression bomb can
 * take. Memory is limited to a few output chunks.
 */
export const MAX_DECODED_BYTES = 64 * 1024 * 1024;

/** Maximum number of chained encodings. No legitimate response has more. */
const MAX_CHAIN = 2;

/** Creates the stream when the first byte arrives, because `deflate` depends on it. */
type Opener = (firstByte: number) => Transform;

const openers: Record<string, Opener | undefined> = {
  gzip: () => zlib.createGunzip(),
  "x-gzip": () => zlib.createGunzip(),
  br: () => zlib.createBrotliDecompress(),
  // RFC 9110 requires a zlib stream, but some servers send raw DEFLATE. In a zlib header, the low four bits are 8.
  deflate: (firstByte) => ((firstByte & 0x0f) === 8 ? zlib.createInflate() : zlib.createInflateRaw()),
  // Node 22.15 and later. Other runtimes treat the encoding as unknown.
  ...(typeof zlib.createZstdDecompress === "function" && { zstd: () => zlib.createZstdDecompress() }),
};

interface Stage {
  push(bytes: Uint8Array): void;
  end(): void;
  destroy(): void;
}

function createStage(open: Opener, next: Omit<Stage, "destroy">, fail: (how: DecodingEnd) => void): Stage {
  let stream: Transform | null = null;
  let inputEnded = false;
  let decodedBytes = 0;
  return {
    push(bytes) {
      if (bytes.length === 0) return;
      if (stream === null) {
        stream = open(bytes[0] as number);
        stream.on("data", (decoded: Buffer) => {
          decodedBytes += decoded.length;
          if (decodedBytes > MAX_DECODED_BYTES) fail("too_large");
          else next.push(decoded);
        });
        stream.on("end", () => next.end());
        stream.on("error", (cause: Error & { code?: string }) => {
          const cut = inputEnded && (cause.code === "Z_BUF_ERROR" || /unexpected end/i.test(cause.message));
          fail(cut ? "cut" : "damaged");
        });
      }
      stream.write(Buffer.from(bytes));
    },
    end() {
      inputEnded = true;
      if (stream === null) next.end();
      else stream.end();
    },
    destroy() {
      stream?.destroy();
    },
  };
}

/** Creates a decoder on `node:zlib` streams: gzip, deflate, br, zstd, and chains of two. */
export function createZlibDecoder(contentEncoding: string, sink: DecodedSink): ContentDecoder | null {
  const codings = contentEncoding
    .toLowerCase()
    .split(",")
    .map((coding) => coding.trim())
    .filter((coding) => coding !== "" && coding !== "identity");
  // The name may be `constructor`, which every object has.
  const chain = codings.map((coding) => (Object.hasOwn(openers, coding) ? openers[coding] : undefined));
  if (chain.length === 0 || chain.length > MAX_CHAIN || chain.includes(undefined)) return null;

  const stages: Stage[] = [];
  let finished = false;
  const finish = (how: DecodingEnd) => {
    if (finished) return;
    finished = true;
    for (const stage of stages) stage.destroy();
    sink.ended(how);
  };
  let next: Omit<Stage, "destroy"> = {
    push: (bytes) => {
      if (!finished) sink.bytes(bytes);
    },
    end: () => finish("whole"),
  };
  // The encoding listed last was applied last and is decoded first, so the chain is built from its end.
  for (const open of chain as Opener[]) {
    const stage = createStage(open, next, finish);
    stages.push(stage);
    next = stage;
  }
  const first = next;
  return {
    push(bytes) {
      if (!finished) first.push(bytes);
    },
    end() {
      if (!finished) first.end();
    },
  };
}
