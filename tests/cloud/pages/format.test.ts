import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { daysOf } from "../../../cloud/pages/cost-chart.ts";
import { formatCost, formatCount, formatUsd } from "../../../cloud/pages/format.ts";

describe("formatUsd()", () => {
  const table: readonly (readonly [bigint, string])[] = [
    [0n, "$0.00"],
    [1n, "<$0.0001"],
    [50_000_000n, "<$0.0001"],
    [150_000_000n, "$0.0002"],
    [9_999_999_999n, "$0.0100"],
    [10_000_000_000n, "$0.01"],
    [345_500_000_000n, "$0.35"],
    [1_234_567_890_000_000_000n, "$1,234,567.89"],
  ];
  for (const [pico, expected] of table) {
    it(`writes ${pico} pico-USD as ${expected}`, () => assert.equal(formatUsd(pico), expected));
  }
});

describe("formatCost()", () => {
  const none = {
    ...{
      prompt_tokens: 0,
      completion_tokens: 0,
      cache_read_tokens: 0,
      cache_write_tokens: 0,
      thinking_tokens: 0,
    },
    cost_pico_usd: "0",
  };
  const free = { ...none, prompt_tokens: 7 };

  it("says no figure where no request has a known price or a count, and zero where there is none", () => {
    assert.equal(formatCost({ ...free, requests: 2, unpriced_requests: 2 }), "unpriced");
    assert.equal(formatCost({ ...free, requests: 2, unpriced_requests: 1 }), "$0.00");
    assert.equal(formatCost({ ...none, requests: 2, unpriced_requests: 0 }), "–");
    assert.equal(
      formatCost({ ...none, cost_pico_usd: "10000000000", requests: 2, unpriced_requests: 0 }),
      "$0.01",
    );
    assert.equal(formatCost({ ...none, requests: 0, unpriced_requests: 0 }), "$0.00");
  });
});

describe("formatCount()", () => {
  it("sets thousands apart", () => {
    assert.equal(formatCount(999), "999");
    assert.equal(formatCount(1_000), "1,000");
    assert.equal(formatCount(1_234_567), "1,234,567");
  });
});

describe("daysOf()", () => {
  const days = (from: string, to: string) => daysOf({ from, to, days: [] }).map(({ date }) => date);

  it("lists every day that the period touches, and not the one at whose midnight it ends", () => {
    assert.deepEqual(days("2026-02-27T12:00:00.000Z", "2026-03-01T00:00:00.000Z"), [
      "2026-02-27",
      "2026-02-28",
    ]);
    assert.deepEqual(days("2026-02-28T23:00:00.000Z", "2026-03-01T00:00:00.001Z"), [
      "2026-02-28",
      "2026-03-01",
    ]);
    assert.deepEqual(days("2026-02-28T00:00:00.000Z", "2026-02-28T00:00:00.000Z"), ["2026-02-28"]);
  });

  it("ends with the longest retention, however far away the period's end is put", () => {
    const all = days("2026-01-01T12:00:00.000Z", "9999-12-31T23:59:59.999Z");
    assert.equal(all.length, 3_651);
    assert.deepEqual([all[0], all.at(-1)], ["2026-01-01", "2035-12-30"]);
  });
});
