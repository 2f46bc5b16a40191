import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  describeAccount,
  describeFull,
  describeReset,
  describeUse,
  describeWindow,
  formatClock,
  type LimitTextFacts,
  renderBar,
} from "../../../cli/render/limit-text.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
/** A local time, so that the test is independent of the zone. */
const now = new Date(2026, 7, 31, 9, 20).getTime();

const limit = (members: Partial<LimitTextFacts> = {}): LimitTextFacts => ({
  provider: "anthropic",
  account: null,
  window: "5h",
  scope: null,
  unit: "share",
  used_percent: null,
  limit: null,
  remaining: null,
  resets_at: null,
  level: "ok",
  seen_at: new Date(now).toISOString(),
  is_over: false,
  elapsed_percent: null,
  burn_percent_per_hour: null,
  full: "unknown",
  full_at: null,
  ...members,
});

describe("formatClock()", () => {
  it("shows the date only if it is more than a day away", () => {
    assert.equal(formatClock(now + HOUR, now), "10:20");
    assert.equal(formatClock(now + 48 * HOUR, now), "2026-09-02 09:20");
  });
});

describe("renderBar()", () => {
  it("fills whole cells, at least one for any use", () => {
    assert.equal(renderBar(0, 4), "░░░░");
    assert.equal(renderBar(1, 4), "▓░░░");
    assert.equal(renderBar(62, 4), "▓▓░░");
    assert.equal(renderBar(112, 4), "▓▓▓▓");
    assert.equal(renderBar(null, 4), "░░░░");
  });
});

describe("the text of a limit", () => {
  it("names the account and the window", () => {
    assert.equal(describeAccount(limit()), "anthropic");
    assert.equal(describeAccount(limit({ account: "0123456789abcdef" })), "anthropic 012345");
    assert.equal(describeWindow(limit({ scope: "opus" })), "5h opus");
    assert.equal(
      describeWindow(limit({ window: "rate", unit: "input_tokens", scope: "gpt-5" })),
      "rate input tokens gpt-5",
    );
    assert.equal(describeWindow(limit({ window: "credits", unit: "credits" })), "credits");
    assert.equal(describeWindow(limit({ window: "1mo", unit: "micro_usd" })), "1mo");
  });

  it("states the use", () => {
    for (const [members, text] of [
      [{ used_percent: 62.9 }, "62 %"],
      [{ used_percent: 50, limit: 300 }, "50 %"],
      [{ used_percent: 50, limit: 1_000, remaining: 500, unit: "requests" }, "500 of 1,000"],
      [{ limit: 10e6, remaining: 2.5e6, unit: "micro_usd" }, "$7.50 of $10.00"],
      [{ remaining: 12.5, unit: "credits" }, "12.5 left"],
      [{ level: "exceeded" }, "used up"],
      [{}, "–"],
      [{ used_percent: 62, is_over: true }, "–"],
    ] as const)
      assert.equal(describeUse(limit(members)), text);
  });

  it("states the reset and the forecast", () => {
    const resets_at = new Date(now + 134 * MINUTE).toISOString();
    assert.equal(describeReset(limit({ resets_at }), now), "2 h 14 min (11:34)");
    assert.equal(describeReset(limit({ resets_at, is_over: true }), now + 144 * MINUTE), "10 min ago");
    assert.equal(describeReset(limit(), now), "–");
    assert.equal(describeFull(limit({ full: "full" }), now), "now");
    assert.equal(describeFull(limit({ full: "lasts" }), now), "lasts");
    assert.equal(describeFull(limit({ full: "at", full_at: resets_at }), now), "about 11:34");
    assert.equal(describeFull(limit(), now), "–");
  });
});
