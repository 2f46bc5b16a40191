import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type Budget, matchesScope } from "../../../core/budgets/budget.ts";
import { budgetTransition } from "../../../core/budgets/budget-machine.ts";
import { initialBudgetsState } from "../../../core/budgets/budget-state.ts";
import { type CallToDecide, canRefuse, decideCall } from "../../../core/budgets/decide-call.ts";
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

const call = (details: Partial<CallToDecide> = {}): CallToDecide => ({
  facts: metered,
  bound: cents(1),
  isFinal: false,
  ...details,
});

const spentCents = (budget: Partial<Budget>, used: number) =>
  apply(stateOf([budgetOf(budget)]), [booked(cents(used))], NOON).state;

describe("decideCall()", () => {
  it("allows a call while less than the amount is used", () => {
    assert.deepEqual(decideCall(spentCents({}, 999), call(), NOON), { kind: "allow", letThrough: [] });
  });

  it("refuses a call when the amount is used up, and says by what and until when", () => {
    assert.deepEqual(decideCall(spentCents({}, 1_000), call(), NOON), {
      kind: "refuse",
      budget: "daily",
      isFleet: false,
      reason: "amount",
      unit: "usd",
      limit: 10n * USD,
      spent: 10n * USD,
      inFlight: 0n,
      periodEnd: NOON + 12 * 3_600_000,
      retryAfter: 12 * 3_600,
    });
  });

  it("never refuses a call that costs nothing for a budget in USD, even if that fails closed and its sum or the caller is unknown", () => {
    const free = call({ facts: { ...metered, billing: "free" }, bound: { costPicoUsd: 0n, tokens: null } });
    const zero = call({ bound: { costPicoUsd: 0n, tokens: 10 } });
    const used = spentCents({}, 1_000);
    const lost = budgetTransition(spentCents({ fail: "closed" }, 0), { kind: "sums_lost" }, NOON).state;
    for (const state of [used, lost])
      for (const each of [free, zero])
        assert.deepEqual(decideCall(state, each, NOON), { kind: "allow", letThrough: [] });
    const unknown = { ...free, isFinal: true, facts: { billing: "free" } };
    const scoped = spentCents({ fail: "closed", scope: { project: ["shop"] } }, 0);
    assert.equal(decideCall(scoped, unknown, NOON).kind, "allow");
    // It is a request like any other, and what a plan covers is counted once it is known.
    const requests = spentCents({ unit: "requests", limit: 1n }, 1);
    assert.equal(decideCall(requests, free, NOON).kind, "refuse");
    const plan = { ...metered, billing: "plan" };
    const active = activeOf(budgetOf({ limit: 0n, scope: { billing: ["plan"] } }));
    const used2 = apply(initialBudgetsState, [{ kind: "budgets_set", budgets: [active] }], NOON).state;
    const known = budgetTransition(
      used2,
      { kind: "sums_loaded", budget: "daily", key: null, sums: [] },
      NOON,
    );
    assert.equal(decideCall(known.state, { ...free, facts: plan }, NOON).kind, "refuse");
  });

  it("counts the bounds of calls in flight", () => {
    const state = apply(stateOf([budgetOf()]), [admitted("1", cents(1_000))], NOON).state;
    const decision = decideCall(state, call(), NOON);
    assert.deepEqual([decision.kind, "inFlight" in decision && decision.inFlight], ["refuse", 10n * USD]);
  });

  it("needs room for all that a call may use only if the budget reserves", () => {
    const large = call({ bound: cents(2) });
    assert.equal(decideCall(spentCents({}, 999), large, NOON).kind, "allow");
    assert.equal(decideCall(spentCents({ reserve: true }, 999), large, NOON).kind, "refuse");
    assert.equal(decideCall(spentCents({ reserve: true }, 998), large, NOON).kind, "allow");
  });

  it("treats a call without a bound as one that can't be decided", () => {
    const unbounded = call({ bound: { costPicoUsd: null, tokens: null } });
    assert.deepEqual(decideCall(spentCents({ reserve: true }, 0), unbounded, NOON), {
      kind: "allow",
      letThrough: [{ budget: "daily", reason: "bound" }],
    });
    const closed = decideCall(spentCents({ reserve: true, fail: "closed" }, 0), unbounded, NOON);
    // The end of the period changes nothing.
    assert.deepEqual(closed.kind === "refuse" && [closed.reason, closed.periodEnd, closed.retryAfter], [
      "unknown",
      null,
      null,
    ]);
  });

  it("asks for the facts on which a refusal depends, and for no others", () => {
    const state = spentCents({ scope: { model: ["m"] } }, 1_000);
    const { model: _, ...facts } = metered;
    assert.deepEqual(decideCall(state, call({ facts }), NOON), { kind: "undecided", needs: ["model"] });
    assert.deepEqual(decideCall(state, call({ facts: { ...facts, billing: "plan" } }), NOON).kind, "allow");
    assert.deepEqual(decideCall(spentCents({ reserve: true }, 0), call({ bound: undefined }), NOON), {
      kind: "undecided",
      needs: ["bound"],
    });
    assert.deepEqual(
      decideCall(spentCents({ reserve: true }, 0), call({ bound: undefined, isFinal: true }), NOON),
      { kind: "allow", letThrough: [{ budget: "daily", reason: "bound" }] },
    );
  });

  it("sends a call whose facts stay unknown, or refuses it if the budget fails closed", () => {
    const { model: _, ...facts } = metered;
    const unknown = call({ facts, isFinal: true });
    const scope = { model: ["m"] };
    assert.deepEqual(decideCall(spentCents({ scope }, 1_000), unknown, NOON), {
      kind: "allow",
      letThrough: [{ budget: "daily", reason: "request" }],
    });
    assert.equal(decideCall(spentCents({ scope, fail: "closed" }, 0), unknown, NOON).kind, "refuse");
    const { project: __, ...others } = metered;
    assert.deepEqual(
      decideCall(spentCents({ scope: { project: ["p"] } }, 0), call({ facts: others, isFinal: true }), NOON),
      { kind: "allow", letThrough: [{ budget: "daily", reason: "caller" }] },
    );
  });

  it("does the same for a budget whose records were not read yet", () => {
    const decide = (budget: Budget) => {
      const budgets = [activeOf(budget)];
      const { state } = budgetTransition(initialBudgetsState, { kind: "budgets_set", budgets }, NOON);
      return decideCall(state, call(), NOON);
    };
    assert.deepEqual(decide(budgetOf()), {
      kind: "allow",
      letThrough: [{ budget: "daily", reason: "records" }],
    });
    assert.equal(decide(budgetOf({ fail: "closed" })).kind, "refuse");
  });

  it("never counts plan usage in USD, unless the scope names the billing mode", () => {
    const plan = { ...metered, billing: "plan" };
    assert.equal(decideCall(spentCents({}, 1_000), call({ facts: plan }), NOON).kind, "allow");
    assert.equal(matchesScope(budgetOf(), plan), false);
    assert.equal(matchesScope(budgetOf({ unit: "tokens" }), plan), true);
    assert.equal(matchesScope(budgetOf({ scope: { billing: ["plan"] } }), plan), true);
  });

  it("never refuses for a budget that warns, is paused or is lifted", () => {
    const used = (budget: Budget, details: object) =>
      apply(
        initialBudgetsState,
        [{ kind: "budgets_set", budgets: [activeOf(budget, details)] }, booked(cents(2_000))],
        NOON,
      ).state;
    const states = [
      used(budgetOf({ atLimit: "warn" }), {}),
      used(budgetOf(), { isPaused: true }),
      used(budgetOf(), { liftedUntil: NOON + 1 }),
    ];
    for (const state of states) {
      assert.equal(canRefuse(state, NOON), false);
      assert.equal(decideCall(state, call(), NOON).kind, "allow");
    }
    assert.equal(decideCall(states[2] as (typeof states)[0], call(), NOON + 1).kind, "refuse");
  });

  it("counts each session apart", () => {
    const state = apply(
      stateOf([budgetOf({ period: { kind: "session" } })]),
      [booked(cents(1_000))],
      NOON,
    ).state;
    assert.equal(decideCall(state, call(), NOON).kind, "refuse");
    assert.equal(decideCall(state, call({ facts: { ...metered, session: "other" } }), NOON).kind, "allow");
    assert.equal(
      decideCall(state, call({ facts: { ...metered, session: null } }), NOON).kind,
      "allow" as string,
    );
  });

  it("names the budget that refuses for the longest time", () => {
    const state = apply(
      stateOf([
        budgetOf({ name: "a" }),
        budgetOf({ name: "b", period: { kind: "month", zone: "UTC" } }),
        budgetOf({ name: "c", period: { kind: "hour", zone: "UTC" } }),
      ]),
      [booked(cents(1_000))],
      NOON,
    ).state;
    const decision = decideCall(state, call(), NOON);
    assert.equal("budget" in decision && decision.budget, "b");
  });

  it("names a budget that refuses until it is changed before one whose period ends", () => {
    const day = budgetOf({ name: "day" });
    const total = (name: string) => budgetOf({ name, period: { kind: "total" } });
    for (const budgets of [
      [day, total("total")],
      [total("total"), day],
      [total("total"), total("other")],
    ]) {
      const state = apply(stateOf(budgets), [booked(cents(1_000))], NOON).state;
      const decision = decideCall(state, call(), NOON);
      assert.deepEqual(
        decision.kind === "refuse" && [decision.budget, decision.periodEnd, decision.retryAfter],
        ["total", null, null],
      );
    }
  });

  it("stops all calls of a tripped guard for its cool-down", () => {
    const guard = budgetOf({
      unit: "requests",
      limit: 2n,
      period: { kind: "rolling", lengthMs: 60_000 },
      coolDownMs: 600_000,
    });
    const full = apply(stateOf([guard]), [admitted("1", cents(0)), admitted("2", cents(0))], NOON).state;
    const first = decideCall(full, call(), NOON);
    assert.deepEqual([first.kind, "reason" in first && first.reason], ["refuse", "rate"]);
    const tripped = apply(full, [{ kind: "call_refused", budget: "daily", facts: metered }], NOON);
    assert.deepEqual(
      tripped.effects.map(({ kind }) => kind),
      ["trip_guard"],
    );
    const later = decideCall(tripped.state, call(), NOON + 300_000);
    assert.deepEqual([later.kind, "retryAfter" in later && later.retryAfter], ["refuse", 300]);
    assert.equal(decideCall(tripped.state, call(), NOON + 600_000).kind, "allow");
  });

  it("matches a value that ends in * by its beginning", () => {
    const budget = budgetOf({ scope: { model: ["claude-opus-*", "m"], project: ["shop"] } });
    const of = (model: string) => matchesScope(budget, { ...metered, model });
    assert.deepEqual(
      [of("claude-opus-4-5"), of("claude-opus"), of("m"), of("m2")],
      [true, false, true, false],
    );
  });
});
