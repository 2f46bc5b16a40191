import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { formatCount } from "../../../../core/values/text/format-count.ts";

describe("formatCount()", () => {
  it("separates thousands", () => {
    assert.equal(formatCount(999), "999");
    assert.equal(formatCount(1_000), "1,000");
    assert.equal(formatCount(1_234_567), "1,234,567");
    assert.equal(formatCount(1_234_567n), "1,234,567");
    assert.equal(formatCount("1234567"), "1,234,567");
  });

  it("shows a dash for an unknown count, never zero", () => assert.equal(formatCount(null), "–"));
});
