import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Budget } from "../../../core/budgets/budget.ts";
import { budgetTransition, MAX_BUDGET_SESSIONS } from "../../../core/budgets/budget-machine.ts";
import { initialBudgetsState } from "../../../core/budgets/budget-state.ts";
import { FLEET_HOLD_MS } from "../../../core/budgets/fleet-share.ts";
import { passCapacity } from "../../../core/budgets/pass-capacity.ts";
import {
  activeOf,
  admitted,
  apply,
  booked,
  budgetOf,
  cents,
  metered,
  NOON,
  stateOf,
  USD,
} from "./budgets.rig.ts";

const requests: Partial<Budget> = { unit: "requests", limit: 100n };

const afterCalls = (budget: Partial<Budget>, used: number) =>
  apply(
    stateOf([budgetOf(budget)]),
    Array.from({ length: used }, () => booked(cents(1))),
    NOON,
  ).state;

describe("passCapacity()", () => {
  it("is one call for an amount in USD or tokens, and the calls that are left for one in requests", () => {
    assert.equal(passCapacity(stateOf([budgetOf()]), NOON), 1);
    assert.equal(passCapacity(stateOf([budgetOf({ unit: "tokens", limit: 1_000n })]), NOON), 1);
    assert.equal(passCapacity(afterCalls(requests, 40), NOON), 60);
    const inFlight = apply(afterCalls(requests, 40), [admitted("1", cents(1))], NOON).state;
    assert.equal(passCapacity(inFlight, NOON), 59);
  });

  it("is the least of all budgets that block", () => {
    assert.equal(passCapacity(stateOf([budgetOf({ name: "a", ...requests }), budgetOf()]), NOON), 1);
    assert.equal(
      passCapacity(stateOf([budgetOf({ atLimit: "warn", limit: 0n })]), NOON),
      Number.POSITIVE_INFINITY,
    );
  });

  it("is zero if less than a tenth is left", () => {
    assert.equal(passCapacity(afterCalls(requests, 90), NOON), 10);
    assert.equal(passCapacity(afterCalls(requests, 91), NOON), 0);
    assert.equal(passCapacity(stateOf([budgetOf({ limit: 0n })]), NOON), 0);
  });

  it("is zero for budgets that reserve, fail closed or are not known", () => {
    for (const details of [{ reserve: true }, { fail: "closed" }] as const)
      assert.equal(passCapacity(stateOf([budgetOf(details)]), NOON), 0);
    const unread = budgetTransition(
      initialBudgetsState,
      { kind: "budgets_set", budgets: [activeOf(budgetOf())] },
      NOON,
    ).state;
    assert.equal(passCapacity(unread, NOON), 0);
  });

  it("is zero while a rate guard stops calls", () => {
    const guard = budgetOf({
      ...requests,
      period: { kind: "rolling", lengthMs: 60_000 },
      coolDownMs: 600_000,
    });
    const tripped = apply(
      stateOf([guard]),
      [{ kind: "call_refused", budget: "daily", facts: metered }],
      NOON,
    ).state;
    assert.equal(passCapacity(tripped, NOON), 0);
    assert.equal(passCapacity(tripped, NOON + 600_000), 100);
  });

  it("is zero if any session has used its amount up, or if sessions may be forgotten", () => {
    const perSession = (limit: bigint) =>
      stateOf([budgetOf({ ...requests, limit, period: { kind: "session" } })]);
    const call = (session: string) => booked(cents(1), NOON, { ...metered, session });
    const loaded = (state: typeof initialBudgetsState, sessions: readonly string[]) =>
      apply(
        state,
        [
          {
            kind: "sums_loaded",
            budget: "daily",
            key: null,
            sums: sessions.map((key) => ({ key, parts: [], fired: [] })),
          },
        ],
        NOON,
      ).state;
    assert.equal(
      passCapacity(apply(loaded(perSession(2n), ["a", "b"]), [call("a"), call("b")], NOON).state, NOON),
      1,
    );
    assert.equal(passCapacity(apply(loaded(perSession(1n), ["a", "b"]), [call("b")], NOON).state, NOON), 0);
    const many = Array.from({ length: MAX_BUDGET_SESSIONS }, (_, index) => `s${index}`);
    assert.equal(passCapacity(loaded(perSession(2n), many), NOON), 0);
  });

  it("contains the spend of other machines, and is zero if that is outdated", () => {
    const place = { workspace: "w", address: "https://cloud.test/", subject: "workspace" };
    const fleet = { ...place, from: NOON - 12 * 3_600_000, elsewhere: 0n, here: 0n, statedAt: NOON };
    const state = (elsewhere: bigint) =>
      apply(
        initialBudgetsState,
        [
          {
            kind: "budgets_set",
            budgets: [activeOf(budgetOf({ limit: 10n * USD }), { fleet: { ...fleet, elsewhere } })],
          },
        ],
        NOON,
      ).state;
    assert.equal(passCapacity(state(9n * USD), NOON), 1);
    assert.equal(passCapacity(state(9n * USD + 1n), NOON), 0);
    const yearly = apply(
      initialBudgetsState,
      [{ kind: "budgets_set", budgets: [activeOf(budgetOf({ period: { kind: "total" } }), { fleet })] }],
      NOON,
    ).state;
    assert.equal(passCapacity(yearly, NOON + FLEET_HOLD_MS + 1), 0);
  });
});
