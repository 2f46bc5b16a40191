import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  type BudgetState,
  type BudgetSum,
  callsSince,
  currentBounds,
  EMPTY_SUM,
  heldBy,
  inFlightSince,
  roomAt,
  stoppedUntil,
  usedSince,
} from "../../../core/budgets/budget-state.ts";
import { admitted, apply, budgetOf, cents, metered, NOON, stateOf } from "./budgets.rig.ts";

const HOUR = 3_600_000;
const MINUTE = 60_000;
const DAY = 24 * HOUR;
const hourly = { kind: "rolling", lengthMs: HOUR } as const;

const part = (at: number, used: number, unknown = 0) => ({ at, used: BigInt(used), calls: 2, unknown });
const sum: BudgetSum = { ...EMPTY_SUM, from: 10, used: 9n, parts: [part(5, 1), part(10, 4, 1), part(20, 5)] };

describe("currentBounds()", () => {
  it("keeps the period of the last event while it lasts, and finds the next one after it", () => {
    const [day] = stateOf([budgetOf()]).budgets as readonly [BudgetState];
    const { from } = day.bounds;
    assert.equal(currentBounds(day, from + DAY - 1), day.bounds);
    assert.deepEqual(currentBounds(day, from + DAY), { from: from + DAY, to: from + 2 * DAY });
    assert.deepEqual(currentBounds(day, from - 1), { from: from - DAY, to: from });
  });

  it("keeps a period without an end, and moves a rolling one", () => {
    const [total] = stateOf([budgetOf({ period: { kind: "total" } })]).budgets as readonly [BudgetState];
    assert.equal(currentBounds(total, NOON + 1_000 * DAY), total.bounds);
    const [rolling] = stateOf([budgetOf({ period: hourly })]).budgets as readonly [BudgetState];
    assert.deepEqual(currentBounds(rolling, NOON + MINUTE), { from: NOON + MINUTE - HOUR, to: null });
  });
});

describe("usedSince()", () => {
  it("adds up the parts from a time on", () => {
    assert.deepEqual(
      [0, 10, 11, 21].map((since) => usedSince(sum, since, NOON)),
      [10n, 9n, 5n, 0n],
    );
  });

  it("leaves out what began after now", () => {
    assert.deepEqual(
      [0, 10].map((since) => usedSince(sum, since, 19)),
      [5n, 4n],
    );
    assert.equal(usedSince(EMPTY_SUM, 0, 0), 0n);
  });
});

describe("callsSince()", () => {
  it("counts the calls from a time on, and those of unknown use", () => {
    assert.deepEqual(callsSince(sum, 0, NOON), { calls: 6, unknown: 1 });
    assert.deepEqual(callsSince(sum, 11, NOON), { calls: 2, unknown: 0 });
    assert.deepEqual(callsSince(sum, 0, 19), { calls: 4, unknown: 1 });
  });
});

describe("stoppedUntil()", () => {
  const guard = budgetOf({ period: hourly, coolDownMs: MINUTE });
  const stopped = (trippedUntil: number | null, budget = guard) =>
    stoppedUntil(budget, { ...EMPTY_SUM, trippedUntil }, NOON);

  it("is the end of a cool-down that is not over", () => {
    assert.equal(stopped(NOON + 1), NOON + 1);
    assert.equal(stopped(NOON), null);
    assert.equal(stopped(null), null);
    assert.equal(stopped(NOON + 1, budgetOf()), null);
  });

  it("is at most a cool-down from now", () => {
    assert.equal(stopped(NOON + DAY), NOON + MINUTE);
  });
});

describe("heldBy()", () => {
  it("is what a call may use, with the sum that it belongs to", () => {
    const tokens = budgetOf({ unit: "tokens", period: { kind: "session" } });
    assert.deepEqual(heldBy(tokens, { facts: metered, bound: cents(5) }), { key: "s", amount: 5n });
    const unbounded = { costPicoUsd: null, tokens: null };
    assert.deepEqual(heldBy(tokens, { facts: metered, bound: unbounded }), { key: "s", amount: null });
    assert.equal(heldBy(budgetOf(), { facts: { ...metered, billing: "plan" }, bound: cents(5) }), null);
  });
});

describe("inFlightSince()", () => {
  const tokens = budgetOf({ unit: "tokens", scope: { project: ["shop"] }, period: hourly });
  const unbounded = { costPicoUsd: null, tokens: null };
  const admit = (budget = tokens) => {
    const first = apply(stateOf([budget]), [admitted("1", cents(5))], NOON - 2 * HOUR).state;
    const others = [
      admitted("2", cents(7)),
      admitted("3", unbounded),
      admitted("4", cents(100), { ...metered, project: "other" }),
    ];
    const { state } = apply(first, others, NOON);
    const [each] = state.budgets as readonly [BudgetState];
    return (since: number, key = "") => inFlightSince(state, each, key, each.sums[key] ?? EMPTY_SUM, since);
  };

  it("counts in a rolling period only the calls that began in it", () => {
    const inFlight = admit();
    assert.equal(inFlight(NOON - 2 * HOUR), 12n);
    assert.equal(inFlight(NOON - HOUR), 7n);
    assert.equal(inFlight(NOON + 1), 0n);
  });

  it("counts only calls of the same sum", () => {
    assert.equal(admit()(NOON - HOUR, "another"), 0n);
    assert.equal(
      admit(budgetOf({ unit: "tokens", scope: { project: ["none"] }, period: hourly }))(NOON - HOUR),
      0n,
    );
  });

  it("counts in any other period all of them", () => {
    const daily = { ...tokens, period: { kind: "day", zone: "UTC" } } as const;
    assert.equal(admit(daily)(NOON), 12n);
  });

  it("is nothing without calls", () => {
    const state = stateOf([tokens]);
    assert.equal(inFlightSince(state, state.budgets[0] as BudgetState, "", EMPTY_SUM, NOON), 0n);
  });
});

describe("roomAt()", () => {
  const roomOf = (
    period: typeof hourly | { readonly kind: "total" },
    parts: BudgetSum["parts"],
    inFlight = 0n,
  ) => {
    const [each] = stateOf([budgetOf({ unit: "tokens", limit: 10n, period })]).budgets as readonly [
      BudgetState,
    ];
    return roomAt(each, { ...EMPTY_SUM, parts }, currentBounds(each, NOON), inFlight, NOON);
  };

  it("is the end of a period, and never if it has none", () => {
    const [day] = stateOf([budgetOf()]).budgets as readonly [BudgetState];
    assert.equal(roomAt(day, sum, day.bounds, 0n, NOON), NOON + DAY / 2);
    assert.equal(roomOf({ kind: "total" }, []), null);
  });

  it("is when enough of a rolling period has passed, a step after the use", () => {
    const parts = [
      part(NOON - 2 * HOUR, 100),
      part(NOON - 30 * MINUTE, 4),
      part(NOON - 20 * MINUTE, 5),
      part(NOON - 10 * MINUTE, 6),
      // From before the clock was set back.
      part(NOON + DAY, 9),
    ];
    assert.equal(roomOf(hourly, parts), NOON - 20 * MINUTE + MINUTE + HOUR);
    assert.equal(roomOf(hourly, parts, 5n), NOON - 10 * MINUTE + MINUTE + HOUR);
  });

  it("is after a whole period if calls in flight alone may use the amount", () => {
    assert.equal(roomOf(hourly, [part(NOON - MINUTE, 4)], 10n), NOON + HOUR);
  });
});
