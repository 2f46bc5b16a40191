import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { formatPermille, formatShortCount, formatShortUsd } from "../../pages/formats.ts";

describe("formatShortUsd()", () => {
  const table: readonly [bigint | null, string][] = [
    [null, "–"],
    [0n, "$0.00"],
    [1n, "<$0.0001"],
    [49_999_999n, "<$0.0001"],
    [50_000_000n, "<$0.0001"],
    [100_000_000n, "$0.0001"],
    [150_000_000n, "$0.0002"],
    [9_999_999_999n, "$0.0100"],
    [10_000_000_000n, "$0.0100"],
    [345_500_000_000n, "$0.3455"],
    [820_950_000_000n, "$0.8210"],
    [999_999_999_999n, "$1.0000"],
    [1_234_567_890_000_000n, "$1,234.57"],
    [1_234_567_890_000_000_000n, "$1,234,567.89"],
    [-2_500_000_000_000n, "-$2.50"],
  ];
  for (const [value, text] of table)
    it(`${value} as ${text}`, () => assert.equal(formatShortUsd(value), text));
});

describe("formatShortCount()", () => {
  it("uses short forms", () => {
    assert.deepEqual([null, 0, 999n, 1_234, 5_678_901n].map(formatShortCount), [
      "–",
      "0",
      "999",
      "1.23K",
      "5.68M",
    ]);
  });
});

describe("formatPermille()", () => {
  it("shows a decimal place only if there is one", () =>
    assert.deepEqual([0, 5, 500, 1_000].map(formatPermille), ["0%", "0.5%", "50%", "100%"]));
});
