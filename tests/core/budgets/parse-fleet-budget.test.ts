import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { parseFleetBudget, toMachineBudget } from "../../../core/budgets/parse-fleet-budget.ts";

const terms = { name: "all", amount: "100 USD" };
const zone = { zone: "Europe/Berlin" };

describe("parseFleetBudget()", () => {
  it("reads the terms of a budget, in the given zone if they state none", () => {
    const parsed = parseFleetBudget(terms, zone);
    assert.deepEqual(parsed.ok && parsed.budget.period, { kind: "month", zone: "Europe/Berlin" });
    const total = parseFleetBudget({ ...terms, period: "total" }, zone);
    assert.deepEqual(total.ok && total.budget.period, { kind: "total" });
  });

  for (const [key, change] of [
    ["name", { name: "x".repeat(55) }],
    ["period", { period: "24h" }],
    ["period", { period: "session" }],
    ["cool_down", { period: "1m", cool_down: "10m" }],
    ["amount", { amount: "many" }],
  ] as const)
    it(`refuses ${JSON.stringify(change)}`, () => {
      const parsed = parseFleetBudget({ ...terms, ...change }, zone);
      assert.equal(!parsed.ok && parsed.key, key);
    });

  it("accepts the longest name that fits with its prefix", () => {
    const parsed = parseFleetBudget({ ...terms, name: "x".repeat(54) }, zone);
    assert.ok(parsed.ok);
    assert.equal(toMachineBudget(parsed.budget, "workspace", null).name.length, 64);
  });
});

describe("toMachineBudget()", () => {
  it("limits only a budget of a project to part of the machine's calls", () => {
    const parsed = parseFleetBudget(terms, zone);
    assert.ok(parsed.ok);
    const scopes = [
      ["workspace", null],
      ["project", "shop"],
      ["person", "ann"],
      ["machine", "m1"],
    ].map(([subject, target]) => toMachineBudget(parsed.budget, subject!, target ?? null).scope);
    assert.deepEqual(scopes, [{}, { project: ["shop"] }, {}, {}]);
    assert.equal(toMachineBudget(parsed.budget, "person", "ann").name, "workspace/all");
  });
});
