import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { EventStreamCodec, Int64 } from "@smithy/eventstream-codec";
import fc from "fast-check";
import { createEventStreamReader } from "../../../../core/metering/exchange/event-stream-reader.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder();
const codec = new EventStreamCodec(
  (bytes) => (typeof bytes === "string" ? bytes : decoder.decode(bytes)),
  (text) => encoder.encode(text),
);

/** A message as written by AWS's own codec. */
function messageOf(type: string, payload: string, extra: Parameters<typeof codec.encode>[0]["headers"] = {}) {
  const headers = { ":event-type": { type: "string", value: type }, ...extra } as const;
  return codec.encode({ headers, body: encoder.encode(payload) });
}

function joined(...parts: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/** What a reader reports: `type payload` for each message, then how many it dropped. */
function read(bytes: Uint8Array, cuts: readonly number[] = [], maxMessageBytes = 1024): (string | number)[] {
  const found: (string | number)[] = [];
  const reader = createEventStreamReader(
    ({ header, payload }) => found.push(`${header(":event-type")} ${decoder.decode(payload)}`),
    { maxMessageBytes },
  );
  let from = 0;
  for (const cut of [...cuts].sort((one, other) => one - other)) {
    reader.push(bytes.slice(from, cut));
    from = cut;
  }
  reader.push(bytes.slice(from));
  reader.end();
  return [...found, reader.dropped];
}

describe("createEventStreamReader()", () => {
  it("reads messages of AWS's codec, with headers of every type", () => {
    const bytes = joined(
      messageOf("one", '{"a":1}', {
        yes: { type: "boolean", value: true },
        no: { type: "boolean", value: false },
        byte: { type: "byte", value: -1 },
        short: { type: "short", value: 2 },
        int: { type: "integer", value: 3 },
        long: { type: "long", value: Int64.fromNumber(4) },
        binary: { type: "binary", value: encoder.encode("x") },
        at: { type: "timestamp", value: new Date(0) },
        id: { type: "uuid", value: "00112233-4455-6677-8899-aabbccddeeff" },
      }),
      messageOf("two", ""),
    );
    assert.deepEqual(read(bytes), ['one {"a":1}', "two ", 0]);
    assert.deepEqual(read(new Uint8Array(0)), [0]);
  });

  it("returns null for a header that is absent or not a string", () => {
    let headers: (string | null)[] = [];
    const reader = createEventStreamReader(
      ({ header }) => {
        headers = [header("yes"), header("none")];
      },
      { maxMessageBytes: 1024 },
    );
    reader.push(messageOf("t", "", { yes: { type: "boolean", value: true } }));
    assert.deepEqual(headers, [null, null]);
  });

  const good = messageOf("t", "payload");
  /** Changes some bytes of the message and recomputes both checksums, unless `stale`. */
  const flip = (at: number) => good.map((byte, index) => (index === at ? byte ^ 1 : byte));
  for (const [name, bytes] of [
    ["a wrong checksum of the prelude", flip(9)],
    ["a wrong length", flip(3)],
    ["a wrong length of the headers", flip(7)],
    ["a changed payload", flip(good.length - 6)],
    ["a changed header", flip(14)],
    ["a wrong checksum of the message", flip(good.length - 1)],
  ] as const)
    it(`stops at ${name} and counts it as dropped`, () => {
      assert.deepEqual(read(joined(good, bytes, good)), ["t payload", 1]);
      assert.deepEqual(read(joined(good, bytes, good), [5, good.length + 3]), ["t payload", 1]);
      assert.deepEqual(read(joined(good, bytes, good), [5, 2 * good.length]), ["t payload", 1]);
    });

  it("counts a truncated message as dropped", () => {
    assert.deepEqual(read(good.slice(0, -1)), [1]);
    assert.deepEqual(read(joined(good, good.slice(0, 3))), ["t payload", 1]);
  });

  it("skips a message that is too long without buffering it, however it is split", () => {
    const long = messageOf("long", "x".repeat(500));
    const bytes = joined(good, long, good);
    assert.deepEqual(read(bytes, [], 200), ["t payload", "t payload", 1]);
    for (let cut = 0; cut < bytes.length; cut += 7)
      assert.deepEqual(read(bytes, [cut], 200), ["t payload", "t payload", 1]);
    assert.deepEqual(read(long.slice(0, 100), [], 200), [2]);
  });

  it("stops at invalid headers even if both checksums are correct", () => {
    for (const headers of [[5], [0], [0, 10], [0, 7], [0, 7, 0], [0, 7, 0, 9, 1], [1, 65, 4, 0], [0, 99]]) {
      const bytes = withChecksums(headers);
      assert.deepEqual(read(bytes), [1], headers.join(" "));
    }
  });

  // Planted once: `needed` left at a message's length after it was read, which stalls when cuts fall in the next prelude.
  it("reads the same messages however the bytes are split", () => {
    const bytes = joined(messageOf("a", "1"), messageOf("b", ""), messageOf("c", "x".repeat(300)), good);
    const whole = read(bytes);
    fc.assert(
      fc.property(fc.array(fc.nat(bytes.length), { maxLength: 12 }), (cuts) => {
        assert.deepEqual(read(bytes, cuts), whole);
      }),
    );
    assert.deepEqual(read(bytes, Array.from(bytes.keys())), whole);
  });

  // Planted once: reading continued after a wrong checksum, which counted the same loss twice.
  it("never throws or reports more than it received, for any bytes", () => {
    const junk = fc.oneof(
      fc.constant(good),
      fc
        .array(fc.constantFrom(0, 1, 7, 12, 16, 255), { maxLength: 40 })
        .map((bytes) => Uint8Array.from(bytes)),
      fc
        .tuple(fc.array(fc.constantFrom(0, 1, 4, 5, 6, 7, 9, 10, 65), { maxLength: 12 }), fc.nat(32))
        .map(([headers, total]) => withChecksums(headers, total)),
      fc.array(fc.constantFrom(0, 1, 7, 65), { maxLength: 6 }).map((headers) => withChecksums(headers)),
    );
    fc.assert(
      fc.property(fc.array(junk, { maxLength: 4 }), (parts) => {
        const found = read(joined(...parts));
        assert.ok(found.length <= parts.length + 1);
        assert.ok((found.at(-1) as number) <= 1);
      }),
    );
  });
});

/** A message with these header bytes, no payload and right checksums, which may state a wrong length. */
function withChecksums(headers: readonly number[], said?: number): Uint8Array {
  const total = 16 + headers.length;
  const bytes = new Uint8Array(total);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, said ?? total);
  view.setUint32(4, headers.length);
  view.setUint32(8, crc32(bytes.subarray(0, 8)));
  bytes.set(headers, 12);
  view.setUint32(total - 4, crc32(bytes.subarray(0, total - 4)));
  return bytes;
}

/** Bit by bit, as in RFC 1952. */
function crc32(bytes: Uint8Array): number {
  let crc = ~0;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1;
  }
  return ~crc >>> 0;
}
