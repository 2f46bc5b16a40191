import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { listDays } from "../../../cloud/pages/chart-days.ts";
import { formatCost } from "../../../cloud/pages/format.ts";
import { COST_PARTS } from "../../../core/pricing/cost-split.ts";

describe("formatCost()", () => {
  const none = {
    ...{
      prompt_tokens: 0,
      completion_tokens: 0,
      cache_read_tokens: 0,
      cache_write_tokens: 0,
      thinking_tokens: 0,
    },
    ...{ cost_pico_usd: "0", spent_pico_usd: "0", plan_usage_pico_usd: "0", unknown_billing_pico_usd: "0" },
  };
  const format = (sum: Parameters<typeof formatCost>[0]) => formatCost(sum, "spentPicoUsd");
  const free = { ...none, prompt_tokens: 7 };

  it("shows no amount if no request has a known price or count, and zero if there are no requests", () => {
    assert.equal(format({ ...free, requests: 2, unpriced_requests: 2 }), "unpriced");
    assert.equal(format({ ...free, requests: 2, unpriced_requests: 1 }), "$0.00");
    assert.equal(format({ ...none, requests: 2, unpriced_requests: 0 }), "–");
    assert.equal(
      format({
        ...none,
        cost_pico_usd: "10000000000",
        spent_pico_usd: "10000000000",
        requests: 2,
        unpriced_requests: 0,
      }),
      "$0.0100",
    );
    assert.equal(format({ ...none, requests: 0, unpriced_requests: 0 }), "$0.00");
  });

  it("shows plan usage and unknown billing apart from what was spent", () => {
    const sum = {
      ...{ ...free, cost_pico_usd: "6000000000000", requests: 3, unpriced_requests: 0 },
      ...{ spent_pico_usd: "1000000000000", plan_usage_pico_usd: "2000000000000" },
      unknown_billing_pico_usd: "3000000000000",
    };
    assert.deepEqual(
      COST_PARTS.map(({ part }) => formatCost(sum, part)),
      ["$1.00", "$2.00", "$3.00"],
    );
  });
});

describe("listDays()", () => {
  const days = (from: string, to: string) => listDays({ from, to, days: [] }).map(({ date }) => date);

  it("lists every day of the period, without the day at whose midnight it ends", () => {
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

  it("ends with the longest retention, however distant the period's end is", () => {
    const all = days("2026-01-01T12:00:00.000Z", "9999-12-31T23:59:59.999Z");
    assert.equal(all.length, 3_651);
    assert.deepEqual([all[0], all.at(-1)], ["2026-01-01", "2035-12-30"]);
  });
});
