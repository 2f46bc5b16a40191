import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { listDays } from "../../../cloud/pages/chart-days.ts";
import { formatCost } from "../../../cloud/pages/format.ts";

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

  it("shows no amount if no request has a known price or count, and zero if there are no requests", () => {
    assert.equal(formatCost({ ...free, requests: 2, unpriced_requests: 2 }), "unpriced");
    assert.equal(formatCost({ ...free, requests: 2, unpriced_requests: 1 }), "$0.00");
    assert.equal(formatCost({ ...none, requests: 2, unpriced_requests: 0 }), "–");
    assert.equal(
      formatCost({ ...none, cost_pico_usd: "10000000000", requests: 2, unpriced_requests: 0 }),
      "$0.0100",
    );
    assert.equal(formatCost({ ...none, requests: 0, unpriced_requests: 0 }), "$0.00");
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
