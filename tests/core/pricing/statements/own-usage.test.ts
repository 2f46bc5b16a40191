import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { aDay, aRecord, ownOf } from "./bill.rig.ts";

const USD = 1_000_000_000_000n;

describe("addOwnRecord()", () => {
  it("sums calls by day in UTC and model, whatever snapshot and vendor its name has", () => {
    const days = ownOf([
      aRecord({ model: "claude-haiku-4-5-20251001" }),
      aRecord({ model: "anthropic/claude-haiku-4.5", costPicoUsd: (3n * USD) / 2n }),
      aRecord({ requestedAt: aDay(13) }),
    ]);
    assert.deepEqual(
      [...days.values()].map(({ date, requests, costPicoUsd }) => [date, requests, costPicoUsd]),
      [
        ["2026-05-12", 2, 3n * USD],
        ["2026-05-13", 1, (3n * USD) / 2n],
      ],
    );
  });

  it("counts each kind of tokens and its cost; thinking is output", () => {
    const [usage] = ownOf([
      aRecord({
        tokens: {
          ...{ promptTokens: 1_000, cacheReadTokens: 2_000, cacheWriteTokens: 3_000 },
          ...{ cacheWrite1hTokens: 1_000, completionTokens: 10, thinkingTokens: 20 },
        },
      }),
    ]).values();
    assert.deepEqual(usage?.tokens, {
      ...{ input: 1_000n, "all input": 6_000n, "cache read": 2_000n, "cache write": 2_000n },
      ...{ "cache write 1h": 1_000n, output: 30n },
    });
    // $1, $0.1, $1.25, $2 and $5 per million.
    assert.deepEqual(usage?.partCosts, {
      ...{ input: USD / 1_000n, "cache read": (2n * USD) / 10_000n, "cache write": (25n * USD) / 10_000n },
      ...{ "cache write 1h": (2n * USD) / 1_000n, output: (15n * USD) / 100_000n },
    });
  });

  // Seen to fail with labels such as "audio input" that were compared with their medium.
  it("counts searches as a fee, and audio as tokens", () => {
    const search = aRecord({ usageExtras: { web_search_requests: 2 } });
    assert.equal([...ownOf([search]).values()][0]?.fees, (2n * USD) / 100n);
    const audio = aRecord({
      ...{ provider: "openai", model: "gpt-4o-mini-audio-preview" },
      usageExtras: { audio_input_tokens: 500_000, audio_output_tokens: 50_000 },
    });
    const [usage = assert.fail()] = ownOf([audio]).values();
    assert.equal(usage.fees, 0n);
    assert.equal((usage.partCosts.input ?? 0n) + (usage.partCosts.output ?? 0n), usage.costPicoUsd);
  });

  it("keeps calls apart that are not billed by usage", () => {
    const plan = aRecord({ billingMode: "plan" });
    const [usage] = ownOf([plan, plan, aRecord({ billingMode: "unknown", costPicoUsd: null })]).values();
    assert.deepEqual([usage?.requests, usage?.costPicoUsd, usage?.tokens.input], [0, 0n, 0n]);
    assert.deepEqual(usage?.apart.get("plan"), { requests: 2, costPicoUsd: 3n * USD });
    assert.deepEqual(usage?.apart.get("unknown"), { requests: 1, costPicoUsd: 0n });
  });

  it("counts what makes its own sums uncertain, which a failed call does not", () => {
    const [usage] = ownOf([
      aRecord({ costPicoUsd: null, serviceTier: "batch", requestedAt: aDay(13) - 1_000, latencyMs: 2_000 }),
      aRecord({ costSource: "estimated" }),
      aRecord({ tokensComplete: false }),
      aRecord({ tokensComplete: false, costPicoUsd: null, errorClass: "rate_limit" }),
    ]).values();
    assert.deepEqual([usage?.unpriced, usage?.estimated, usage?.incomplete], [1, 1, 1]);
    assert.deepEqual(usage?.pastMidnight, { requests: 1, costPicoUsd: 0n });
    assert.deepEqual(usage?.tiers.get("batch"), { requests: 1, costPicoUsd: 0n });
  });

  it("has no parts of a cost that the provider stated", () => {
    const [usage] = ownOf([aRecord({ costPicoUsd: 7n, costSource: "provider" })]).values();
    assert.deepEqual([usage?.costPicoUsd, usage?.partCosts], [7n, {}]);
  });

  // Seen to fail with the names of tiers as sent.
  it("names service tiers as statements do", () => {
    const tiers = ["SERVICE_TIER_FLEX", "fast", "auto", "standard", null];
    const [usage] = ownOf(tiers.map((serviceTier) => aRecord({ serviceTier, costPicoUsd: 1n }))).values();
    assert.deepEqual([...(usage?.tiers.keys() ?? [])], ["flex", "priority"]);
  });
});
