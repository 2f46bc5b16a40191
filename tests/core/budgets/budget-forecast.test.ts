import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { forecastBudget } from "../../../core/budgets/budget-forecast.ts";
import type { BudgetState, BudgetSum } from "../../../core/budgets/budget-state.ts";
import { apply, booked, budgetOf, cents, NOON, stateOf } from "./budgets.rig.ts";

const HOUR = 3_600_000;

/** The forecast at noon after ten calls that used this number of cents each. */
function forecast(each: number, { budget = budgetOf(), calls = 10, now = NOON } = {}) {
  const { state } = apply(
    stateOf([budget], now),
    Array.from({ length: calls }, () => booked(cents(each), now)),
    now,
  );
  const [of] = state.budgets as readonly [BudgetState];
  return forecastBudget(of, of.sums[""] as BudgetSum, now);
}

describe("forecastBudget()", () => {
  it("is when the amount is used up at the pace of the period so far, even after its end", () => {
    assert.equal(forecast(50), NOON + 12 * HOUR);
    assert.equal(forecast(25), NOON + 36 * HOUR);
  });

  it("is now if the amount is used up", () => {
    assert.equal(forecast(100), NOON);
    assert.equal(forecast(500), NOON);
  });

  it("is unknown from few calls, early in the period, without use, and in a period without an end", () => {
    assert.equal(forecast(50, { calls: 9 }), null);
    assert.equal(forecast(50, { now: NOON - 11 * HOUR }), null);
    assert.equal(forecast(0), null);
    assert.equal(forecast(50, { budget: budgetOf({ period: { kind: "total" } }) }), null);
  });
});
