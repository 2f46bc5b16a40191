import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  describeScope,
  formatBudgetAmount,
  isAtApiPrices,
  usedPercent,
} from "../../../core/budgets/describe-budget.ts";
import { budgetOf, USD } from "./budgets.rig.ts";

describe("formatBudgetAmount()", () => {
  it("has the unit in words, in the singular for one", () => {
    assert.equal(formatBudgetAmount("usd", 12n * USD + USD / 2n), "$12.50");
    assert.equal(formatBudgetAmount("tokens", 2_000_000n), "2,000,000 tokens");
    assert.equal(formatBudgetAmount("requests", 1n), "1 request");
    assert.equal(formatBudgetAmount("requests", 0n), "0 requests");
  });
});

describe("isAtApiPrices()", () => {
  it("is true only for a budget in USD that counts what a plan covers", () => {
    assert.equal(isAtApiPrices(budgetOf({ scope: { billing: ["metered", "plan"] } })), true);
    assert.equal(isAtApiPrices(budgetOf({ scope: { billing: ["metered"] } })), false);
    assert.equal(isAtApiPrices(budgetOf({ scope: { billing: ["plan"] }, unit: "tokens" })), false);
    assert.equal(isAtApiPrices(budgetOf()), false);
  });
});

describe("describeScope()", () => {
  it("lists each key with its values", () => {
    assert.equal(
      describeScope({ scope: { project: ["shop"], model: ["claude-*", "gpt-5"] } }),
      "project shop, model claude-* or gpt-5",
    );
    assert.equal(describeScope({ scope: {} }), "all calls");
  });
});

describe("usedPercent()", () => {
  it("rounds down, goes above 100, and is 100 for an amount of 0", () => {
    const cases: readonly [limit: bigint, used: bigint, percent: number][] = [
      [3n, 2n, 66],
      [200n, 199n, 99],
      [10n, 25n, 250],
      [0n, 0n, 100],
    ];
    for (const [limit, used, percent] of cases) assert.equal(usedPercent(limit, used), percent);
  });
});
