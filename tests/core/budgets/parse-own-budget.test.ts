import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { parseBudget } from "../../../core/budgets/parse-budget.ts";
import { parseOwnBudget } from "../../../core/budgets/parse-own-budget.ts";

const terms = { name: "all", amount: "100 USD" };
const zone = { zone: "UTC" };

describe("parseOwnBudget()", () => {
  for (const [key, change] of [
    ["name", { name: "workspace/all" }],
    ["name", { name: " workspace/x" }],
    ["model", { model: "gpt*5" }],
    ["project", { project: ["shop", "*shop"] }],
    ["session", { session: "a**" }],
    ["amount", { amount: "many" }],
  ] as const)
    it(`refuses ${JSON.stringify(change)}, even where stored budgets may have it`, () => {
      const parsed = parseOwnBudget({ ...terms, ...change }, zone);
      assert.equal(!parsed.ok && parsed.key, key);
      assert.equal(parseBudget({ ...terms, ...change }, zone).ok, key !== "amount");
    });

  it("accepts a star at the end, and names that only contain the word", () => {
    for (const change of [
      { model: "gpt-*" },
      { session: "*" },
      { name: "workspace" },
      { name: "my workspace/x" },
    ])
      assert.ok(parseOwnBudget({ ...terms, ...change }, zone).ok, JSON.stringify(change));
  });
});
