import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import {
  addToSplit,
  billingModesSql,
  COST_PARTS,
  describeSplit,
  NO_COST,
  SPLIT_PARTS,
  shownParts,
  splitJson,
  sumOfSplit,
} from "../../../core/pricing/cost-split.ts";
import { BILLING_MODES } from "../../../core/values/record-fields.ts";

describe("addToSplit()", () => {
  it("adds each cost to one part, so that the parts add up to the whole", () => {
    const calls = fc.array(fc.tuple(fc.constantFrom(...BILLING_MODES), fc.bigInt(0n, 10n ** 15n)));
    fc.assert(
      fc.property(calls, (costs) => {
        const split = costs.reduce((sum, [mode, cost]) => addToSplit(sum, mode, cost), NO_COST);
        const whole = costs.reduce((sum, [, cost]) => sum + cost, 0n);
        assert.equal(
          COST_PARTS.reduce((sum, { part }) => sum + split[part], 0n),
          whole,
        );
        assert.equal(sumOfSplit(split), whole);
        const plan = costs.reduce((sum, [mode, cost]) => (mode === "plan" ? sum + cost : sum), 0n);
        assert.equal(split.planUsagePicoUsd, plan);
      }),
    );
  });

  it("counts credits as spent", () => assert.equal(SPLIT_PARTS.credits, "spentPicoUsd"));
});

describe("billingModesSql()", () => {
  it("lists the billing modes of a part", () =>
    assert.deepEqual(
      COST_PARTS.map(({ part }) => billingModesSql(part)),
      ["'metered', 'credits', 'free'", "'plan'", "'unknown'"],
    ));
});

describe("splitJson()", () => {
  it("names each part, and writes it as an exact decimal string", () => {
    const split = {
      spentPicoUsd: 5n * 10n ** 20n,
      planUsagePicoUsd: 10n ** 21n,
      unknownBillingPicoUsd: 15n * 10n ** 20n,
    };
    assert.deepEqual(splitJson(split), {
      spent_pico_usd: "500000000000000000000",
      plan_usage_pico_usd: "1000000000000000000000",
      unknown_billing_pico_usd: "1500000000000000000000",
    });
  });
});

describe("shownParts()", () => {
  it("always shows what was spent, and the other parts if they have calls", () => {
    assert.deepEqual(
      shownParts(() => false).map(({ label }) => label),
      ["Spent"],
    );
    assert.deepEqual(
      shownParts(() => true),
      COST_PARTS,
    );
  });
});

describe("describeSplit()", () => {
  it("leaves out parts without a cost, except what was spent", () => {
    const format = (picoUsd: bigint) => `$${picoUsd}`;
    assert.equal(describeSplit(NO_COST, format), "Spent $0");
    assert.equal(
      describeSplit({ spentPicoUsd: 12n, planUsagePicoUsd: 231n, unknownBillingPicoUsd: 3n }, format),
      "Spent $12 · plan usage worth $231 at API prices · $3 with unknown billing",
    );
  });
});
