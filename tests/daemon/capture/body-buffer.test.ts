import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createBodyBuffer } from "../../../daemon/capture/body-buffer.ts";

describe("createBodyBuffer()", () => {
  it("gives back what was appended, in one piece, as often as asked", () => {
    for (const sizes of [[], [0], [5], [1, 2, 3], [9_000], [8_192, 8_193, 1], Array(40).fill(4_000)]) {
      const buffer = createBodyBuffer(1_000_000);
      const all: number[] = [];
      for (const [index, size] of sizes.entries()) {
        const bytes = new Uint8Array(size).fill(index + 1);
        buffer.append(bytes);
        all.push(...bytes);
        bytes.fill(255); // the caller's again
      }
      assert.deepEqual([...buffer.bytes()!], all);
      buffer.append(new Uint8Array([7]));
      assert.deepEqual([...buffer.bytes()!], [...all, 7]);
      assert.equal(buffer.totalBytes, all.length + 1);
    }
  });

  it("keeps buffers apart that share their memory", () => {
    const buffers = Array.from({ length: 50 }, () => createBodyBuffer(100_000));
    for (let round = 0; round < 20; round++) {
      for (const [index, buffer] of buffers.entries()) buffer.append(new Uint8Array(137).fill(index));
    }
    for (const [index, buffer] of buffers.entries()) {
      assert.ok(buffer.bytes()!.every((byte) => byte === index));
    }
  });

  it("lets go of everything past its bound and goes on counting", () => {
    const buffer = createBodyBuffer(10);
    buffer.append(new Uint8Array(10));
    assert.equal(buffer.bytes()!.length, 10);
    buffer.append(new Uint8Array(1));
    buffer.append(new Uint8Array(20_000));
    assert.equal(buffer.bytes(), null);
    assert.equal(buffer.totalBytes, 20_011);
  });
});
