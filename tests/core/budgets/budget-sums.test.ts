import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { BudgetEffect, BudgetEvent, LoadedSum } from "../../../core/budgets/budget-events.ts";
import { budgetTransition } from "../../../core/budgets/budget-machine.ts";
import { budgetPeriod } from "../../../core/budgets/budget-period.ts";
import { type BudgetState, type BudgetsState, usedSince } from "../../../core/budgets/budget-state.ts";
import { admitted, apply, booked, budgetOf, cents, metered, NOON, stateOf, USD } from "./budgets.rig.ts";

const HOUR = 3_600_000;
const thresholdsOf = (effects: readonly BudgetEffect[]) =>
  effects.flatMap((each) => (each.kind === "warn" ? [each.threshold] : []));
const passed: BudgetEvent = { kind: "time_passed" };
const sumOf = ({ budgets }: BudgetsState) => budgets[0]?.sums[""];
const spentOf = (state: BudgetsState, now = NOON): bigint => {
  const { active } = state.budgets[0] as BudgetState;
  const sum = sumOf(state);
  return sum === undefined ? 0n : usedSince(sum, budgetPeriod(active.budget, now).from, now);
};

describe("the sums of budgetTransition()", () => {
  it("ignores sums and refusals of a budget that was removed, and refusals of calls that it does not count", () => {
    const { state } = apply(stateOf([budgetOf()]), [booked(cents(5))], NOON);
    const events: readonly BudgetEvent[] = [
      { kind: "sums_loaded", budget: "removed", key: null, sums: [] },
      { kind: "call_refused", budget: "removed", facts: metered },
      { kind: "call_refused", budget: "daily", facts: { ...metered, billing: "plan" } },
      { kind: "call_refused", budget: "daily", facts: metered },
    ];
    for (const event of events)
      assert.deepEqual(budgetTransition(state, event, NOON), { state, effects: [] });
  });

  it("does not add calls to sums that are read later", () => {
    const lost = budgetTransition(stateOf([budgetOf()]), { kind: "sums_lost" }, NOON).state;
    const { state, effects } = budgetTransition(lost, booked(cents(900)), NOON);
    assert.deepEqual([spentOf(state), effects], [0n, []]);
    const parts = [{ at: NOON - 12 * HOUR, used: 9n * USD, calls: 1, unknown: 0 }];
    const sums = [{ key: "", parts, fired: [] }];
    const read = budgetTransition(state, { kind: "sums_loaded", budget: "daily", key: null, sums }, NOON);
    assert.deepEqual([spentOf(read.state), thresholdsOf(read.effects)], [9n * USD, [80]]);
  });

  it("reads the sum of a session that it does not hold, and removes nothing from it", () => {
    const perSession = stateOf([budgetOf({ period: { kind: "session" } })]);
    const call = { ...cents(5), at: NOON, facts: metered };
    const { state, effects } = budgetTransition(
      perSession,
      { kind: "calls_booked", added: [], removed: [call] },
      NOON,
    );
    assert.deepEqual(effects, [{ kind: "load_sums", budget: "daily", key: "s", from: 0 }]);
    assert.deepEqual(state.budgets[0]?.sums, {});
  });

  it("counts a call from the next period, whose clock is ahead, when that period begins", () => {
    const tomorrow = NOON + 13 * HOUR;
    const { state } = apply(stateOf([budgetOf()]), [booked(cents(5), tomorrow)], NOON);
    const midnight = NOON + 12 * HOUR;
    assert.deepEqual(
      sumOf(state)?.parts.map(({ at }) => at),
      [midnight],
    );
    assert.equal(spentOf(state), 0n);
    assert.equal(spentOf(apply(state, [passed], midnight).state, midnight), (5n * USD) / 100n);
  });

  it("counts a call that is admitted twice once", () => {
    const { state } = apply(stateOf([budgetOf()]), [admitted("1", cents(5)), admitted("1", cents(5))], NOON);
    assert.deepEqual([state.calls.length, sumOf(state)?.inFlight], [1, (5n * USD) / 100n]);
  });

  it("warns about a rolling period again after its length", () => {
    const rolling = budgetOf({ period: { kind: "rolling", lengthMs: HOUR } });
    const first = apply(stateOf([rolling]), [booked(cents(900)), booked(cents(1)), passed], NOON);
    assert.deepEqual(thresholdsOf(first.effects), [80]);
    const later = NOON + 30 * 60_000;
    const second = apply(first.state, [booked(cents(1), later)], later);
    assert.deepEqual(thresholdsOf(second.effects), []);
    const last = NOON + 2 * HOUR;
    assert.deepEqual(thresholdsOf(apply(second.state, [booked(cents(900), last)], last).effects), [80]);
  });

  it("keeps a warning that is not stored yet when the sums are read again", () => {
    const { state } = apply(stateOf([budgetOf()]), [booked(cents(900))], NOON);
    const { parts = [] } = sumOf(state) ?? {};
    const lost = budgetTransition(state, { kind: "sums_lost" }, NOON).state;
    const read = (fired: LoadedSum["fired"]) =>
      budgetTransition(
        lost,
        { kind: "sums_loaded", budget: "daily", key: null, sums: [{ key: "", parts, fired }] },
        NOON + 1,
      );
    assert.deepEqual(read([]).effects, []);
    const stored = read([{ threshold: 80, limit: 10n * USD, at: NOON }]);
    assert.deepEqual(
      sumOf(stored.state)
        ?.fired.map(({ threshold }) => threshold)
        .sort((a, b) => a - b),
      [50, 80],
    );
    assert.deepEqual(stored.effects, []);
  });
});
