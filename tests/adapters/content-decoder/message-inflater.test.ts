import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { describe, it } from "node:test";
import { constants, createDeflateRaw, deflateRawSync } from "node:zlib";
import { createZlibMessageInflater } from "../../../adapters/content-decoder/message-inflater.ts";

/** Compresses messages as RFC 7692, section 7.2.1 says: flushed, and without the four bytes that each would end with. */
function createSender(contextTakeover: boolean): (message: string | Buffer) => Promise<Buffer> {
  const stream = createDeflateRaw();
  let pieces: Buffer[] = [];
  stream.on("data", (piece: Buffer) => pieces.push(piece));
  return (message) =>
    new Promise((resolve) => {
      if (!contextTakeover) {
        resolve(deflateRawSync(message, { finishFlush: constants.Z_SYNC_FLUSH }).subarray(0, -4));
        return;
      }
      stream.write(message);
      stream.flush(constants.Z_SYNC_FLUSH, () => {
        const compressed = Buffer.concat(pieces);
        pieces = [];
        resolve(compressed.subarray(0, -4));
      });
    });
}

/** Text with little repetition in itself, so that only the previous message repeats in it. */
const noise = (length: number) =>
  Buffer.from(Uint8Array.from({ length }, (_, at) => (at * at * 31 + at * 7 + (at >> 5)) & 0xff));

describe("createZlibMessageInflater()", () => {
  for (const contextTakeover of [true, false]) {
    it(`inflates messages, ${contextTakeover ? "each referring to earlier ones" : "each independently"}`, async () => {
      const send = createSender(contextTakeover);
      const inflater = createZlibMessageInflater({ contextTakeover, maxBytes: 1 << 20 });
      for (const length of [0, 1, 5, 20_000, 12_768, 1, 32_768, 32_769, 100_000, 3, 40_000]) {
        const message = noise(length);
        const inflated = inflater.inflate(await send(message));
        assert.equal(inflated.kind, "inflated");
        assert.ok(inflated.kind === "inflated" && message.equals(inflated.bytes), `${length} bytes`);
      }
    });
  }

  it("needs the earlier messages if they share their window", async () => {
    const send = createSender(true);
    const text = '{"type":"response.output_text.delta","delta":"hello"}';
    const [first, second] = [await send(text), await send(text)];
    assert.ok(second.length < first.length / 2, "the second message refers to the first");
    const inflater = createZlibMessageInflater({ contextTakeover: true, maxBytes: 1000 });
    for (const payload of [first, second]) {
      const inflated = inflater.inflate(payload);
      assert.equal(inflated.kind === "inflated" && Buffer.from(inflated.bytes).toString(), text);
    }
    const apart = createZlibMessageInflater({ contextTakeover: false, maxBytes: 1000 });
    apart.inflate(first);
    assert.deepEqual(apart.inflate(second), { kind: "damaged" });
  });

  it("inflates up to the limit", async () => {
    const inflater = createZlibMessageInflater({ contextTakeover: true, maxBytes: 100_000 });
    const send = createSender(true);
    assert.equal(inflater.inflate(await send(Buffer.alloc(100_000))).kind, "inflated");
    assert.deepEqual(inflater.inflate(await send(Buffer.alloc(100_001))), { kind: "too_large" });
  });

  it("stops a bomb early: 64 MiB in 64 KiB", async () => {
    const bomb = await createSender(false)(Buffer.alloc(64 * 1024 * 1024));
    const inflater = createZlibMessageInflater({ contextTakeover: false, maxBytes: 1 << 20 });
    assert.deepEqual(inflater.inflate(bomb), { kind: "too_large" });
  });

  it("reports invalid DEFLATE data as damaged", () => {
    const inflater = createZlibMessageInflater({ contextTakeover: false, maxBytes: 1000 });
    assert.deepEqual(inflater.inflate(Uint8Array.of(7, 7, 7, 7)), { kind: "damaged" });
  });
});
