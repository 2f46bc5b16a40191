import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { describe, it } from "node:test";
import * as zlib from "node:zlib";
import { createZlibDecoder, MAX_DECODED_BYTES } from "../../../adapters/content-decoder/zlib.ts";
import type { DecodingEnd } from "../../../core/ports/content-decoder.ts";

/** Decodes in pieces of `size` bytes. */
function decode(encoding: string, encoded: Uint8Array, size = encoded.length) {
  return new Promise<{ text: string; bytes: number; how: DecodingEnd }>((resolve, reject) => {
    const parts: Buffer[] = [];
    let bytes = 0;
    const decoder = createZlibDecoder(encoding, {
      bytes(chunk) {
        bytes += chunk.length;
        if (bytes < 1_000_000) parts.push(Buffer.from(chunk));
      },
      ended: (how) => resolve({ text: Buffer.concat(parts).toString(), bytes, how }),
    });
    if (decoder === null) return reject(new Error(`no decoder for ${encoding}`));
    for (let at = 0; at < encoded.length; at += size) decoder.push(encoded.subarray(at, at + size));
    decoder.end();
  });
}

const text = JSON.stringify({ usage: { input_tokens: 12, output_tokens: 34 }, filler: "äöü€".repeat(300) });
const plain = Buffer.from(text);
const encodings: [encoding: string, encoded: Buffer][] = [
  ["gzip", zlib.gzipSync(plain)],
  ["X-GZIP", zlib.gzipSync(plain)],
  ["deflate", zlib.deflateSync(plain)],
  ["deflate", zlib.deflateRawSync(plain)],
  ["br", zlib.brotliCompressSync(plain)],
  ["zstd", zlib.zstdCompressSync(plain)],
  ["gzip, br", zlib.brotliCompressSync(zlib.gzipSync(plain))],
  ["identity, gzip", zlib.gzipSync(plain)],
];

/**
 * How a truncated body may be reported. Node reports it for every coding; Deno reports truncated brotli and zstd as damaged,
 * Bun reports truncated zstd as complete. The meter does not depend on it: framing shows that a response was cut.
 */
function endings(encoding: string): DecodingEnd[] {
  const onNode = !("Deno" in globalThis || "Bun" in globalThis);
  return onNode || !/br|zstd/.test(encoding) ? ["cut"] : ["cut", "damaged", "whole"];
}

describe("createZlibDecoder()", () => {
  for (const [encoding, encoded] of encodings) {
    it(`decodes ${encoding} in one piece, in pieces of 7 bytes and byte by byte`, async () => {
      for (const size of [encoded.length, 7, 1]) {
        assert.deepEqual(await decode(encoding, encoded, size), { text, bytes: plain.length, how: "whole" });
      }
    });

    it(`decodes a truncated ${encoding} body and reports that it was cut`, async () => {
      const { how } = await decode(encoding, encoded.subarray(0, encoded.length - 9), 5);
      assert.ok(endings(encoding).includes(how), how);
    });
  }

  it("reports invalid data as damaged", async () => {
    for (const encoding of ["gzip", "br", "zstd"]) {
      assert.equal((await decode(encoding, Buffer.alloc(200, 0xfe))).how, "damaged");
    }
  });

  it("treats an empty body as whole", async () => {
    assert.deepEqual(await decode("gzip", Buffer.alloc(0)), { text: "", bytes: 0, how: "whole" });
  });

  it("stops a decompression bomb at the limit", async () => {
    // A medium quality: the best one takes seconds for so many zeros.
    const params = { [zlib.constants.BROTLI_PARAM_QUALITY]: 5 };
    const bomb = zlib.brotliCompressSync(Buffer.alloc(MAX_DECODED_BYTES + 1), { params });
    assert.ok(bomb.length < 1000);
    const { how, bytes } = await decode("br", bomb);
    assert.equal(how, "too_large");
    assert.ok(bytes <= MAX_DECODED_BYTES);
  });

  it("returns null for unknown encodings, no encoding, and a chain of three", () => {
    const sink = { bytes() {}, ended() {} };
    const unknown = ["compress", "gzip, magic", "constructor", "gzip, __proto__"];
    for (const encoding of [...unknown, "", "identity", "gzip, gzip, gzip"]) {
      assert.equal(createZlibDecoder(encoding, sink), null);
    }
  });
});
