import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { joinBytes } from "../../../core/values/join-bytes.ts";

describe("joinBytes()", () => {
  it("joins pieces in order, and does not copy a single one", () => {
    const piece = Uint8Array.of(1, 2);
    assert.equal(joinBytes([piece]), piece);
    assert.deepEqual(joinBytes([piece, Uint8Array.of(), Uint8Array.of(3)]), Uint8Array.of(1, 2, 3));
    assert.deepEqual(joinBytes([]), new Uint8Array());
  });
});
