import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  checkPlan,
  isPlan,
  PLAN_TABLE,
  PLANS,
  type PlanFeature,
  requiredPlan,
} from "../../../core/plans/mod.ts";

/** Contract, "Authentication" 7 and "Limits"; decisions, "Bodies" and "Reading". */
const features: readonly [feature: PlanFeature, source: string, ...may: readonly boolean[]][] = [
  ["readTeammatesBodies", "on Solo only the author reads", false, true, true, true],
  ["writePromptViews", "requires Team or above", false, true, true, true],
  ["readPromptViews", "requires Business+ or above", false, false, true, true],
  ["advancedSettings", "require Business+ or Enterprise", false, false, true, true],
  ["auditSurface", "Business+ sees older requests there", false, false, true, true],
];

describe("checkPlan()", () => {
  for (const [feature, source, ...may] of features) {
    for (const [at, plan] of PLANS.entries()) {
      it(`${may[at] ? "lets" : "keeps"} ${plan} ${may[at] ? "use" : "from"} ${feature}: ${source}`, () => {
        assert.deepEqual(
          checkPlan(plan, feature),
          may[at]
            ? { ok: true }
            : { ok: false, reason: "plan_required", requiredPlan: PLANS[may.indexOf(true)] },
        );
      });
    }
    it(`asks for the smallest plan that has ${feature}`, () => {
      assert.equal(requiredPlan(feature), PLANS[may.indexOf(true)]);
    });
  }
});

describe("PLAN_TABLE", () => {
  it("has the traces windows of the contract: 7, 30, 30, 30 days", () => {
    assert.deepEqual(
      PLANS.map((plan) => PLAN_TABLE[plan].tracesWindowDays),
      [7, 30, 30, 30],
    );
  });
  it("bounds optimisation on Solo alone, at 90 days", () => {
    assert.deepEqual(
      PLANS.map((plan) => PLAN_TABLE[plan].optimisationMaxDays),
      [90, null, null, null],
    );
  });
  it("never takes away what a smaller plan has", () => {
    for (const [feature] of features) {
      const may = PLANS.map((plan) => PLAN_TABLE[plan][feature]);
      assert.deepEqual(may, [...may].sort());
    }
  });
  it("is held against this table in every one of its features", () => {
    const named = features.map(([feature]) => feature).sort();
    const rights = Object.entries(PLAN_TABLE.solo).filter(([, value]) => typeof value === "boolean");
    assert.deepEqual(named, rights.map(([feature]) => feature).sort());
  });
});

describe("isPlan()", () => {
  for (const plan of PLANS) it(`knows ${plan}`, () => assert.ok(isPlan(plan)));
  for (const other of ["Solo", "business+", "", "length"]) {
    it(`does not know ${JSON.stringify(other)}`, () => assert.ok(!isPlan(other)));
  }
});
