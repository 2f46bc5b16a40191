import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { addCounts, MAX_COUNT, readCount, splitTotal } from "../../../../core/metering/usage/token-counts.ts";

describe("readCount()", () => {
  for (const value of [-1, 1.5, Number.NaN, 2 ** 40 + 1, 2 ** 53, 1e308, "5", null, undefined, {}, true])
    it(`treats ${String(value)} as not stated`, () => assert.equal(readCount(value), null));
  it("accepts integers from 0 to 2^40", () => {
    assert.deepEqual([0, 7, MAX_COUNT].map(readCount), [0, 7, 2 ** 40]);
  });
});

describe("addCounts()", () => {
  it("adds stated counts, and returns null if the sum exceeds the maximum", () => {
    assert.equal(addCounts(1, null, 2), 3);
    assert.equal(addCounts(MAX_COUNT, 1), null);
  });
});

describe("splitTotal()", () => {
  it("sums to the total, is never negative, and reports if the parts exceed it", () => {
    // Planted: the rest computed as the total minus all parts.
    const count = fc.nat(10);
    fc.assert(
      fc.property(count, fc.array(fc.option(count), { maxLength: 3 }), (total, parts) => {
        const split = splitTotal(total, parts);
        const sum = (split.rest ?? 0) + addCounts(...split.parts)!;
        assert.equal(sum, total);
        assert.ok(
          split.parts.every((part, at) => (part === null) === (parts[at] === null) && (part ?? 0) >= 0),
        );
        assert.equal(split.consistent, addCounts(...parts)! <= total);
      }),
    );
  });

  it("keeps the parts if the total is not stated", () => {
    assert.deepEqual(splitTotal(null, [3, null]), { rest: null, parts: [3, null], consistent: false });
    assert.deepEqual(splitTotal(null, [null]), { rest: null, parts: [null], consistent: true });
  });
});
