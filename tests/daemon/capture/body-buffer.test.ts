import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createBodyBuffer } from "../../../daemon/capture/body-buffer.ts";
import { createByteBudget } from "../../../daemon/capture/byte-budget.ts";

const budget = createByteBudget(10_000_000);

describe("createBodyBuffer()", () => {
  it("returns the appended bytes as one array, repeatedly", () => {
    for (const sizes of [[], [0], [5], [1, 2, 3], [9_000], [8_192, 8_193, 1], Array(40).fill(4_000)]) {
      const buffer = createBodyBuffer({ budget, maxBytes: 1_000_000 });
      const all: number[] = [];
      for (const [index, size] of sizes.entries()) {
        const bytes = new Uint8Array(size).fill(index + 1);
        buffer.append(bytes);
        all.push(...bytes);
        bytes.fill(255); // the caller reuses its array
      }
      assert.deepEqual([...buffer.bytes()!], all);
      buffer.append(new Uint8Array([7]));
      assert.deepEqual([...buffer.bytes()!], [...all, 7]);
      assert.equal(buffer.totalBytes, all.length + 1);
    }
  });

  it("keeps buffers separate that share a slab", () => {
    const buffers = Array.from({ length: 50 }, () => createBodyBuffer({ budget, maxBytes: 100_000 }));
    for (let round = 0; round < 20; round++) {
      for (const [index, buffer] of buffers.entries()) buffer.append(new Uint8Array(137).fill(index));
    }
    for (const [index, buffer] of buffers.entries()) {
      assert.ok(buffer.bytes()!.every((byte) => byte === index));
    }
  });

  it("drops everything beyond its limit and continues to count", () => {
    const buffer = createBodyBuffer({ budget, maxBytes: 10 });
    buffer.append(new Uint8Array(10));
    assert.equal(buffer.bytes()!.length, 10);
    buffer.append(new Uint8Array(1));
    buffer.append(new Uint8Array(20_000));
    assert.equal(buffer.bytes(), null);
    assert.equal(buffer.totalBytes, 20_011);
  });

  it("takes the memory of its chunks from the budget, and returns all of it", () => {
    const shared = createByteBudget(1_000_000);
    const buffer = createBodyBuffer({ budget: shared });
    let largest = 0;
    for (let size = 1; size < 2_000; size++) {
      buffer.append(new Uint8Array(size % 300));
      largest = Math.max(largest, shared.usedBytes / buffer.totalBytes);
    }
    assert.ok(shared.usedBytes >= buffer.totalBytes);
    assert.ok(largest <= 2, `${largest} times the bytes`);
    buffer.bytes();
    buffer.release();
    buffer.release();
    assert.deepEqual([shared.usedBytes, buffer.bytes(), buffer.state], [0, null, "released"]);
  });

  it("drops a body that exceeds the budget, and forwards all of its bytes", () => {
    const shared = createByteBudget(100);
    const other = createBodyBuffer({ budget: shared });
    other.append(new Uint8Array(40));
    const passed: number[] = [];
    const buffer = createBodyBuffer({ budget: shared, overflow: (bytes) => passed.push(...bytes) });
    const all: number[] = [];
    for (let at = 0; at < 12; at++) {
      const bytes = new Uint8Array(9).fill(at);
      all.push(...bytes);
      buffer.append(bytes);
    }
    assert.deepEqual([buffer.state, buffer.bytes(), buffer.totalBytes], ["no_room", null, 108]);
    assert.deepEqual(passed, all);
    assert.equal(shared.usedBytes, 40);
    assert.equal(other.bytes()!.length, 40);
  });
});
