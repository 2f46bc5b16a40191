import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { countsSame, matchesScope, neededFacts, sumKey, usedOf } from "../../../core/budgets/budget.ts";
import { budgetOf, cents, metered, USD } from "./budgets.rig.ts";

const perSession = budgetOf({ unit: "tokens", period: { kind: "session" } });

describe("matchesScope()", () => {
  it("is undefined while a fact is not known yet, and false if it never will be", () => {
    const scope = { project: ["shop"] };
    const { project: _, ...unknown } = metered;
    assert.equal(matchesScope(budgetOf({ scope }), metered), true);
    assert.equal(matchesScope(budgetOf({ scope }), unknown), undefined);
    assert.equal(matchesScope(budgetOf({ scope }), { ...metered, project: null }), false);
    assert.equal(matchesScope(budgetOf({ scope }), { ...metered, project: "other" }), false);
  });

  it("needs the billing mode in USD, and the session for a sum per session", () => {
    assert.equal(matchesScope(budgetOf(), {}), undefined);
    assert.equal(matchesScope(budgetOf({ unit: "tokens" }), {}), true);
    assert.equal(matchesScope(perSession, {}), undefined);
    assert.equal(matchesScope(perSession, { session: null }), false);
    assert.equal(matchesScope(perSession, { session: "s" }), true);
  });

  it("takes a model's name with the date that providers append", () => {
    const matches = (model: string) =>
      matchesScope(budgetOf({ scope: { model: ["claude-opus-4-5"] } }), { ...metered, model });
    for (const model of ["claude-opus-4-5", "claude-opus-4-5-20251101", "claude-opus-4-5@20251101"])
      assert.equal(matches(model), true, model);
    for (const model of ["claude-opus-4-5-mini", "claude-opus-4", "claude-opus-4-5-2025"])
      assert.equal(matches(model), false, model);
    const project = budgetOf({ scope: { project: ["shop"] } });
    assert.equal(matchesScope(project, { ...metered, project: "shop-20251101" }), false);
  });
});

describe("neededFacts()", () => {
  it("lists the keys of the scope, the billing mode of USD and the session of a sum per session", () => {
    assert.deepEqual(neededFacts(budgetOf({ scope: { model: ["m"] } })), ["model", "billing"]);
    assert.deepEqual(neededFacts(perSession), ["session"]);
  });
});

describe("usedOf()", () => {
  const call = { facts: metered, ...cents(5) };

  it("is the call's part in the budget's unit", () => {
    assert.equal(usedOf(budgetOf(), call), (5n * USD) / 100n);
    assert.equal(usedOf(budgetOf({ unit: "tokens" }), call), 5n);
    assert.equal(usedOf(budgetOf({ unit: "requests" }), call), 1n);
  });

  it("is unknown, and not 0, if the call does not state it", () => {
    const unknown = { facts: metered, costPicoUsd: null, tokens: null };
    assert.equal(usedOf(budgetOf(), unknown), null);
    assert.equal(usedOf(budgetOf({ unit: "tokens" }), unknown), null);
    assert.equal(usedOf(budgetOf({ unit: "requests" }), unknown), 1n);
  });

  it("is unknown in USD without a billing mode, unless the scope names the mode", () => {
    const unbilled = { ...call, facts: { ...metered, billing: "unknown" } };
    assert.equal(usedOf(budgetOf(), unbilled), null);
    assert.equal(usedOf(budgetOf({ scope: { billing: ["unknown"] } }), unbilled), (5n * USD) / 100n);
  });
});

describe("sumKey()", () => {
  it("is the session for a sum per session, and empty for any other", () => {
    assert.equal(sumKey(perSession, { session: "s" }), "s");
    assert.equal(sumKey(perSession, {}), "");
    assert.equal(sumKey(budgetOf(), { session: "s" }), "");
  });
});

describe("countsSame()", () => {
  it("compares what is counted, and neither the amount nor the order of keys", () => {
    const one = budgetOf({ scope: { model: ["m"], project: ["p"] } });
    assert.equal(countsSame(one, budgetOf({ scope: { project: ["p"], model: ["m"] }, limit: 1n })), true);
    assert.equal(countsSame(one, budgetOf({ scope: { model: ["m"] } })), false);
    assert.equal(countsSame(one, { ...one, unit: "tokens" }), false);
    assert.equal(countsSame(one, { ...one, period: { kind: "total" } }), false);
  });
});
