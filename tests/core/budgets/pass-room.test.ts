import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Budget } from "../../../core/budgets/budget.ts";
import { budgetTransition } from "../../../core/budgets/budget-machine.ts";
import { initialBudgetsState, MAX_BUDGET_SESSIONS } from "../../../core/budgets/budget-state.ts";
import { FLEET_HOLD_MS } from "../../../core/budgets/fleet-share.ts";
import { NO_PASS_ROOM, passRoom, UNLIMITED_ROOM } from "../../../core/budgets/pass-room.ts";
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

/** What has no limit. */
const UNLIMITED = { calls: UNLIMITED_ROOM, microUsd: UNLIMITED_ROOM, tokens: UNLIMITED_ROOM };

describe("passRoom()", () => {
  it("is what is left of an amount, in its unit", () => {
    assert.deepEqual(passRoom(stateOf([budgetOf()]), NOON), { ...UNLIMITED, microUsd: 10_000_000 });
    const tokens = stateOf([budgetOf({ unit: "tokens", limit: 1_000n })]);
    assert.deepEqual(passRoom(tokens, NOON), { ...UNLIMITED, tokens: 1_000 });
    assert.deepEqual(passRoom(afterCalls(requests, 40), NOON), { ...UNLIMITED, calls: 60 });
    const inFlight = apply(afterCalls(requests, 40), [admitted("1", cents(1))], NOON).state;
    assert.deepEqual(passRoom(inFlight, NOON), { ...UNLIMITED, calls: 59 });
  });

  it("is rounded up to a millionth of a USD", () => {
    for (const [limit, microUsd] of [
      [1n, 1],
      [1_000_000n, 1],
      [1_000_001n, 2],
    ] as const)
      assert.equal(passRoom(stateOf([budgetOf({ limit })]), NOON).microUsd, microUsd);
  });

  it("is the least of all budgets that block", () => {
    const both = [budgetOf({ name: "a", ...requests }), budgetOf(), budgetOf({ name: "b", limit: USD })];
    assert.deepEqual(passRoom(stateOf(both), NOON), { ...UNLIMITED, calls: 100, microUsd: 1_000_000 });
    assert.deepEqual(passRoom(stateOf([budgetOf({ atLimit: "warn", limit: 0n })]), NOON), UNLIMITED);
  });

  it("is zero if less than a tenth is left", () => {
    assert.equal(passRoom(afterCalls(requests, 90), NOON).calls, 10);
    assert.deepEqual(passRoom(afterCalls(requests, 91), NOON), NO_PASS_ROOM);
    assert.deepEqual(passRoom(stateOf([budgetOf({ limit: 0n })]), NOON), NO_PASS_ROOM);
  });

  it("is zero for budgets that reserve, fail closed or are not known", () => {
    for (const details of [{ reserve: true }, { fail: "closed" }] as const)
      assert.deepEqual(passRoom(stateOf([budgetOf(details)]), NOON), NO_PASS_ROOM);
    const unread = budgetTransition(
      initialBudgetsState,
      { kind: "budgets_set", budgets: [activeOf(budgetOf())] },
      NOON,
    ).state;
    assert.deepEqual(passRoom(unread, NOON), NO_PASS_ROOM);
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
    assert.deepEqual(passRoom(tripped, NOON), NO_PASS_ROOM);
    assert.equal(passRoom(tripped, NOON + 600_000).calls, 100);
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
      passRoom(apply(loaded(perSession(2n), ["a", "b"]), [call("a"), call("b")], NOON).state, NOON).calls,
      1,
    );
    assert.deepEqual(
      passRoom(apply(loaded(perSession(1n), ["a", "b"]), [call("b")], NOON).state, NOON),
      NO_PASS_ROOM,
    );
    const many = Array.from({ length: MAX_BUDGET_SESSIONS }, (_, index) => `s${index}`);
    assert.deepEqual(passRoom(loaded(perSession(2n), many), NOON), NO_PASS_ROOM);
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
    assert.equal(passRoom(state(9n * USD), NOON).microUsd, 1_000_000);
    assert.deepEqual(passRoom(state(9n * USD + 1n), NOON), NO_PASS_ROOM);
    const yearly = apply(
      initialBudgetsState,
      [{ kind: "budgets_set", budgets: [activeOf(budgetOf({ period: { kind: "total" } }), { fleet })] }],
      NOON,
    ).state;
    assert.deepEqual(passRoom(yearly, NOON + FLEET_HOLD_MS + 1), NO_PASS_ROOM);
  });
});
