import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  checkPlan,
  PLAN_TABLE,
  type PlanFeature,
  requiredPlan,
} from "../../../../core/privacy/plans/plan-table.ts";
import { isPlan, PLANS } from "../../../../core/values/plan.ts";

/** docs/specification.md#cloud-accounts-and-keys 7 and "Limits"; docs/specification.md#bodies and "Reading". */
const features: readonly [feature: PlanFeature, source: string, ...may: readonly boolean[]][] = [
  ["readTeammatesBodies", "on Solo only the author reads", false, true, true, true],
  ["writePromptViews", "requires Team or above", false, true, true, true],
  ["readPromptViews", "requires Business+ or above", false, false, true, true],
  ["advancedSettings", "require Business+ or Enterprise", false, false, true, true],
  ["fleetBudgets", "setting fleet budgets requires Team or above", false, true, true, true],
  ["auditSurface", "Business+ sees older requests there", false, false, true, true],
];

describe("checkPlan()", () => {
  for (const [feature, source, ...may] of features) {
    for (const [at, plan] of PLANS.entries()) {
      it(`${may[at] ? "allows" : "denies"} ${feature} on ${plan}: ${source}`, () => {
        assert.deepEqual(
          checkPlan(plan, feature),
          may[at]
            ? { ok: true }
            : { ok: false, reason: "plan_required", requiredPlan: PLANS[may.indexOf(true)] },
        );
      });
    }
    it(`requires the smallest plan with ${feature}`, () => {
      assert.equal(requiredPlan(feature), PLANS[may.indexOf(true)]);
    });
  }
});

describe("PLAN_TABLE", () => {
  it("has the traces windows of the specification: 7, 30, 30, 30 days", () => {
    assert.deepEqual(
      PLANS.map((plan) => PLAN_TABLE[plan].tracesWindowDays),
      [7, 30, 30, 30],
    );
  });
  it("limits optimisation to 90 days on Solo only", () => {
    assert.deepEqual(
      PLANS.map((plan) => PLAN_TABLE[plan].optimisationMaxDays),
      [90, null, null, null],
    );
  });
  it("includes the rights of every smaller plan", () => {
    for (const [feature] of features) {
      const may = PLANS.map((plan) => PLAN_TABLE[plan][feature]);
      assert.deepEqual(may, [...may].sort());
    }
  });
  it("has an expected row for every feature", () => {
    const named = features.map(([feature]) => feature).sort();
    const rights = Object.entries(PLAN_TABLE.solo).filter(([, value]) => typeof value === "boolean");
    assert.deepEqual(named, rights.map(([feature]) => feature).sort());
  });
});

describe("isPlan()", () => {
  for (const plan of PLANS) it(`accepts ${plan}`, () => assert.ok(isPlan(plan)));
  for (const other of ["Solo", "business+", "", "length"]) {
    it(`rejects ${JSON.stringify(other)}`, () => assert.ok(!isPlan(other)));
  }
});
