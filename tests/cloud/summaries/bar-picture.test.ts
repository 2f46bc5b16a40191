import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { crc32, inflateSync } from "node:zlib";
import { drawBars } from "../../../cloud/summaries/bar-picture.ts";

/** The width, the height and the colour number of each pixel of a PNG with a palette. Checks every chunk. */
function decode(png: Uint8Array) {
  const bytes = Buffer.from(png);
  assert.deepEqual([...bytes.subarray(0, 8)], [137, 80, 78, 71, 13, 10, 26, 10]);
  const chunks = new Map<string, Buffer>();
  for (let at = 8; at < bytes.length; ) {
    const length = bytes.readUInt32BE(at);
    const type = bytes.toString("latin1", at + 4, at + 8);
    assert.equal(bytes.readUInt32BE(at + 8 + length), crc32(bytes.subarray(at + 4, at + 8 + length)), type);
    chunks.set(type, bytes.subarray(at + 8, at + 8 + length));
    at += length + 12;
  }
  assert.deepEqual([...chunks.keys()], ["IHDR", "PLTE", "IDAT", "IEND"]);
  const header = chunks.get("IHDR") ?? assert.fail();
  const [width, height] = [header.readUInt32BE(0), header.readUInt32BE(4)];
  assert.deepEqual([...header.subarray(8)], [2, 3, 0, 0, 0]);
  const raw = inflateSync(chunks.get("IDAT") ?? assert.fail());
  const rowBytes = width / 4 + 1;
  assert.equal(raw.length, height * rowBytes);
  const at = (x: number, y: number) => ((raw[y * rowBytes + 1 + (x >> 2)] ?? 0) >> (6 - 2 * (x & 3))) & 3;
  /** How many pixels of a colour a column has. */
  const count = (x: number, colour: number) =>
    Array.from({ length: height }, (_, y) => at(x, y)).filter((each) => each === colour).length;
  return { width, height, count };
}

describe("drawBars()", () => {
  it("draws a PNG whose bars are as high as their values, with the previous period", async () => {
    const png = await drawBars(
      [
        { value: 100n, before: null },
        { value: 50n, before: 100n },
        { value: 0n, before: null },
        { value: 10n ** 30n, before: null },
      ].map(({ value, before }) => ({ value: value > 10n ** 20n ? 1n : value, before })),
    );
    const { width, height, count } = decode(png);
    assert.deepEqual([width, height], [560, 200]);
    const [first, second, third, fourth] = [79, 213, 347, 481];
    assert.equal(count(first, 1), 176);
    assert.equal(count(second, 1), 88);
    assert.equal(count(third, 1), 0);
    // Whatever is above 0 is seen.
    assert.equal(count(fourth, 1), 1);
    assert.equal(count(first, 2), 0);
    assert.equal(count(147, 2), 2);
    assert.equal(count(third, 3), 1);
  });

  it("draws no bars and no values without failing", async () => {
    for (const bars of [[], [{ value: 0n, before: 0n }], [{ value: -5n, before: null }]]) {
      const { count } = decode(await drawBars(bars));
      for (let x = 0; x < 560; x += 1) assert.equal(count(x, 1) + count(x, 2), 0);
    }
  });
});
