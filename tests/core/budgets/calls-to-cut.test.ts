import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Budget } from "../../../core/budgets/budget.ts";
import { initialBudgetsState } from "../../../core/budgets/budget-state.ts";
import { callsToCut, mayCut } from "../../../core/budgets/calls-to-cut.ts";
import { NO_PASS_ROOM, passRoom } from "../../../core/budgets/pass-room.ts";
import { activeOf, apply, budgetOf, cents, metered, NOON } from "./budgets.rig.ts";

const cutting = (details: Partial<Budget> = {}) => budgetOf({ onExceed: "cut", ...details });

const admitted = (call: string, facts = {}) =>
  ({ kind: "call_admitted", call, facts: { ...metered, ...facts }, bound: cents(1) }) as const;
const booked = (count: number) =>
  ({ kind: "calls_booked", added: [{ at: NOON, facts: metered, ...cents(count) }], removed: [] }) as const;

const cut = (active: Parameters<typeof activeOf>, spent: number, now = NOON) => {
  const set = { kind: "budgets_set", budgets: [activeOf(...active)] } as const;
  const events = [set, admitted("1"), admitted("2", { project: "other" }), booked(spent)];
  return callsToCut(apply(initialBudgetsState, events, NOON).state, now);
};
const ids = (...args: Parameters<typeof cut>) => cut(...args).map(({ call }) => call.id);

describe("callsToCut()", () => {
  it("returns the calls in flight of a budget that is used up by records, and only then", () => {
    assert.deepEqual(ids([cutting()], 999), []);
    assert.deepEqual(ids([cutting()], 1_000), ["1", "2"]);
    assert.deepEqual(ids([cutting({ scope: { project: ["shop"] } })], 1_000), ["1"]);
    assert.deepEqual(ids([cutting({ onExceed: "finish" })], 1_000), []);
    assert.deepEqual(ids([cutting()], 1_000, NOON + 86_400_000), []);
  });

  it("returns none while the budget is paused, lifted or not known", () => {
    assert.deepEqual(ids([cutting(), { isPaused: true }], 1_000), []);
    assert.deepEqual(ids([cutting(), { liftedUntil: NOON + 1 }], 1_000), []);
    const set = { kind: "budgets_set", budgets: [activeOf(cutting())] } as const;
    const { state } = apply(initialBudgetsState, [set, admitted("1"), booked(1_000)], NOON);
    const lost = { ...state, budgets: state.budgets.map((each) => ({ ...each, isKnown: false })) };
    assert.deepEqual(callsToCut(lost, NOON), []);
  });

  it("ends only the calls of the session whose amount is used up", () => {
    const session = cutting({ period: { kind: "session" } });
    const set = { kind: "budgets_set", budgets: [activeOf(session)] } as const;
    const events = [set, admitted("1"), admitted("2", { session: "t" }), booked(1_000)];
    const { state } = apply(initialBudgetsState, events, NOON);
    assert.deepEqual(
      callsToCut(state, NOON).map(({ call, facts }) => [call.id, facts.periodEnd, facts.retryAfter]),
      [["1", null, null]],
    );
  });

  it("ends the calls of a guard for its cool-down, and each call once", () => {
    const period = { kind: "rolling", lengthMs: 60_000 } as const;
    const guard = cutting({ name: "guard", period, coolDownMs: 600_000 });
    const set = { kind: "budgets_set", budgets: [activeOf(guard), activeOf(cutting())] } as const;
    const { state } = apply(initialBudgetsState, [set, admitted("1"), booked(1_001)], NOON);
    const [first, ...others] = callsToCut(state, NOON);
    assert.deepEqual(others, []);
    assert.deepEqual(first?.facts, {
      ...{ budget: "guard", isFleet: false, reason: "cut", unit: "usd", limit: guard.limit },
      ...{ periodEnd: NOON + 600_000, retryAfter: 600 },
    });
  });
});

describe("a budget that ends calls", () => {
  it("decides on every call, so that each is known while it is under way", () => {
    const stateOf = (budget: Budget) =>
      apply(initialBudgetsState, [{ kind: "budgets_set", budgets: [activeOf(budget)] }], NOON).state;
    assert.equal(passRoom(stateOf(budgetOf()), NOON).microUsd, 10_000_000);
    assert.deepEqual(passRoom(stateOf(cutting()), NOON), NO_PASS_ROOM);
    assert.deepEqual([mayCut(stateOf(cutting())), mayCut(stateOf(budgetOf()))], [true, false]);
  });
});
