import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import {
  type BookedCall,
  type Budget,
  type CallUse,
  matchesScope,
  sumKey,
} from "../../../core/budgets/budget.ts";
import type { BudgetEffect, BudgetEvent, LoadedSum } from "../../../core/budgets/budget-events.ts";
import { budgetTransition, RESERVATION_TIMEOUT_MS } from "../../../core/budgets/budget-machine.ts";
import { budgetPeriod, partStart } from "../../../core/budgets/budget-period.ts";
import {
  type BudgetState,
  type BudgetsState,
  callsSince,
  GUARD_TRIPPED,
  initialBudgetsState,
  MAX_BUDGET_SESSIONS,
  type SumPart,
  usedSince,
} from "../../../core/budgets/budget-state.ts";
import { decideCall } from "../../../core/budgets/decide-call.ts";
import { deepFreeze } from "../machine.rig.ts";
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

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const thresholdsOf = (effects: readonly BudgetEffect[]) =>
  effects.flatMap((each) => (each.kind === "warn" ? [each.threshold] : []));
const passed: BudgetEvent = { kind: "time_passed" };

const sumOf = (state: BudgetsState, key = "", at = 0) => state.budgets[at]?.sums[key];
const spentOf = (state: BudgetsState, now = NOON, key = "", at = 0): bigint => {
  const each = state.budgets[at] as BudgetState;
  const sum = each.sums[key];
  return sum === undefined ? 0n : usedSince(sum, budgetPeriod(each.active.budget, now).from, now);
};

describe("budgetTransition()", () => {
  it("warns at each threshold once, and only about the highest that is reached", () => {
    let { state, effects } = apply(stateOf([budgetOf()]), [booked(cents(499))], NOON);
    assert.deepEqual(thresholdsOf(effects), []);
    ({ state, effects } = apply(state, [booked(cents(1)), booked(cents(1))], NOON));
    assert.deepEqual(thresholdsOf(effects), [50]);
    ({ state, effects } = apply(state, [booked(cents(600)), passed], NOON));
    assert.deepEqual(thresholdsOf(effects), [100]);
    const tomorrow = NOON + DAY;
    ({ effects } = apply(state, [passed, booked(cents(500), tomorrow)], tomorrow));
    assert.deepEqual(thresholdsOf(effects), [50]);
  });

  it("does not warn again after a restart, except about another amount", () => {
    const { state } = apply(stateOf([budgetOf()]), [booked(cents(900))], NOON);
    const { parts = [], fired = [] } = sumOf(state) ?? {};
    const restart = (budget: Budget) => {
      const set = budgetTransition(
        initialBudgetsState,
        { kind: "budgets_set", budgets: [activeOf(budget)] },
        NOON,
      );
      const sums = [{ key: "", parts, fired }];
      return budgetTransition(set.state, { kind: "sums_loaded", budget: "daily", key: null, sums }, NOON)
        .effects;
    };
    assert.deepEqual(restart(budgetOf()), []);
    assert.deepEqual(thresholdsOf(restart(budgetOf({ limit: 18n * USD }))), [50]);
  });

  it("counts a call in the period in which it began", () => {
    const midnight = NOON + 12 * HOUR;
    const { state } = apply(stateOf([budgetOf()]), [booked(cents(3), midnight - 1)], midnight + 1);
    assert.equal(spentOf(state, midnight + 1), 0n);
    assert.equal(
      spentOf(apply(state, [booked(cents(3), midnight)], midnight + 1).state, midnight + 1),
      3n * (USD / 100n),
    );
  });

  it("forgets a rolling period step by step", () => {
    const rolling = budgetOf({ period: { kind: "rolling", lengthMs: HOUR } });
    const { state } = apply(
      stateOf([rolling]),
      [booked(cents(5)), booked(cents(7), NOON + 30 * 60_000)],
      NOON + 30 * 60_000,
    );
    assert.equal(spentOf(state, NOON + 59 * 60_000), 12n * (USD / 100n));
    assert.equal(spentOf(state, NOON + 61 * 60_000), 7n * (USD / 100n));
  });

  it("counts a call without a price as unknown, not as 0", () => {
    const { state } = apply(
      stateOf([budgetOf()]),
      [booked({ costPicoUsd: null, tokens: 5 }), booked(cents(1))],
      NOON,
    );
    const sum = sumOf(state);
    assert.deepEqual(sum && callsSince(sum, 0, NOON), { calls: 2, unknown: 1 });
  });

  it("moves a changed record from what it was to what it is", () => {
    const call = (project: string): BookedCall => ({ ...cents(5), at: NOON, facts: { ...metered, project } });
    const scope = { project: ["shop"] };
    const { state } = apply(
      stateOf([budgetOf({ scope })]),
      [
        { kind: "calls_booked", added: [call("shop")], removed: [] },
        { kind: "calls_booked", added: [call("other")], removed: [call("shop")] },
      ],
      NOON,
    );
    assert.equal(spentOf(state), 0n);
    assert.deepEqual(sumOf(state)?.parts, []);
  });

  it("frees what a call held when it ends, when the proxy restarts, and after an hour", () => {
    const { state } = apply(stateOf([budgetOf()]), [admitted("1", cents(4)), admitted("2", cents(4))], NOON);
    assert.equal(sumOf(state)?.callsInFlight, 2);
    const ended = apply(
      state,
      [
        { kind: "call_ended", call: "1" },
        { kind: "call_ended", call: "1" },
      ],
      NOON,
    ).state;
    assert.deepEqual([sumOf(ended)?.callsInFlight, sumOf(ended)?.inFlight], [1, 4n * (USD / 100n)]);
    assert.equal(sumOf(apply(state, [{ kind: "calls_lost" }], NOON).state)?.inFlight, 0n);
    const late = apply(state, [passed], NOON + RESERVATION_TIMEOUT_MS + 1).state;
    assert.deepEqual([late.calls, sumOf(late)?.inFlight], [[], 0n]);
  });

  it("keeps a lift for its time", () => {
    const budgets = [activeOf(budgetOf(), { liftedUntil: NOON + HOUR })];
    const { state } = apply(initialBudgetsState, [{ kind: "budgets_set", budgets }], NOON);
    assert.deepEqual(apply(state, [passed], NOON + HOUR - 1).effects, []);
    const { state: over, effects } = apply(state, [passed, passed], NOON + HOUR);
    assert.deepEqual(effects, [{ kind: "end_lift", budget: "daily" }]);
    assert.equal(over.budgets[0]?.active.liftedUntil, null);
  });

  it("keeps the sums of a budget whose amount changes, and reads them again if it counts other calls", () => {
    const { state } = apply(stateOf([budgetOf()]), [booked(cents(5))], NOON);
    const set = (budget: Budget) =>
      budgetTransition(state, { kind: "budgets_set", budgets: [activeOf(budget)] }, NOON).effects;
    assert.deepEqual(set(budgetOf({ limit: 20n * USD })), []);
    assert.deepEqual(
      set(budgetOf({ scope: { model: ["m"] } })).map(({ kind }) => kind),
      ["load_sums"],
    );
  });

  it("reads the sums again when the clock is set back before the period", () => {
    const { state } = apply(stateOf([budgetOf()]), [booked(cents(5))], NOON);
    const { effects } = budgetTransition(state, passed, NOON - DAY);
    assert.deepEqual(
      effects.map(({ kind }) => kind),
      ["load_sums"],
    );
  });

  it("forecasts once that the amount ends before the period", () => {
    const sixOClock = NOON - 6 * HOUR;
    const calls = Array.from({ length: 10 }, () => booked(cents(40), sixOClock));
    const { state, effects } = apply(stateOf([budgetOf()], sixOClock), [...calls, passed, passed], sixOClock);
    const forecasts = effects.filter(({ kind }) => kind === "warn_forecast");
    assert.deepEqual(
      forecasts.map((each) => "goneAt" in each && each.goneAt),
      [sixOClock + 9 * HOUR],
    );
    assert.deepEqual(apply(state, [passed], NOON).effects, []);
  });

  it("keeps a guard's cool-down when the sums are read again and its period contains no more calls", () => {
    const guard = budgetOf({
      unit: "requests",
      limit: 1n,
      period: { kind: "rolling", lengthMs: 60_000 },
      coolDownMs: 600_000,
    });
    const { state } = apply(stateOf([guard]), [booked(cents(1)), booked(cents(1))], NOON);
    assert.equal(sumOf(state)?.trippedUntil, NOON + 600_000);
    const later = NOON + 300_000;
    const read = apply(state, [{ kind: "sums_lost" }], later).state;
    assert.deepEqual([spentOf(read, later), sumOf(read)?.trippedUntil], [0n, NOON + 600_000]);
  });

  it("resumes a guard's cool-down that began before a restart, and ends it with the guard", () => {
    const guard = budgetOf({
      unit: "requests",
      limit: 1n,
      period: { kind: "rolling", lengthMs: 60_000 },
      coolDownMs: 600_000,
    });
    const load = (trippedAt: number): BudgetEvent => ({
      ...{ kind: "sums_loaded", budget: "daily", key: null },
      sums: [{ key: "", parts: [], fired: [{ threshold: GUARD_TRIPPED, limit: 5n, at: trippedAt }] }],
    });
    const start = stateOf([guard]);
    const decideAt = (at: number, trippedAt: number) => {
      const { state } = apply(start, [load(trippedAt)], at);
      const decision = decideCall(state, { facts: metered, bound: cents(1), isFinal: true }, at);
      return "periodEnd" in decision ? decision.periodEnd : decision.kind;
    };
    assert.equal(decideAt(NOON, NOON - 599_000), NOON + 1_000);
    assert.equal(decideAt(NOON, NOON - 600_000), "allow");
    assert.equal(decideAt(NOON, NOON + 1), "allow");
    const tripped = apply(start, [load(NOON)], NOON).state;
    const plain = activeOf({ ...guard, coolDownMs: null });
    const set = apply(
      tripped,
      [{ kind: "budgets_set", budgets: [plain] }, { kind: "sums_lost" }],
      NOON,
    ).state;
    assert.equal(sumOf(set)?.trippedUntil ?? null, null);
    assert.equal(decideCall(set, { facts: metered, bound: cents(1), isFinal: true }, NOON).kind, "allow");
  });

  it("keeps a guard's cool-down when budgets are set while its sums can't be read", () => {
    const guard = budgetOf({
      unit: "requests",
      limit: 1n,
      period: { kind: "rolling", lengthMs: 60_000 },
      coolDownMs: 600_000,
    });
    const { state } = apply(stateOf([guard]), [booked(cents(1)), booked(cents(1))], NOON);
    const later = NOON + 300_000;
    const lost = budgetTransition(state, { kind: "sums_lost" }, later).state;
    const read = apply(lost, [{ kind: "budgets_set", budgets: [activeOf(guard)] }], later).state;
    assert.deepEqual([spentOf(read, later), sumOf(read)?.trippedUntil], [0n, NOON + 600_000]);
    const { kind } = decideCall(read, { facts: metered, bound: cents(1), isFinal: true }, later);
    assert.equal(kind, "refuse");
  });

  for (const session of ["constructor", "__proto__", "toString"])
    it(`counts a session with the name ${session}, which every object inherits`, () => {
      const budget = budgetOf({ unit: "requests", limit: 2n, period: { kind: "session" }, coolDownMs: HOUR });
      const facts = { ...metered, session };
      const decide = (from: BudgetsState) =>
        decideCall(from, { facts, bound: undefined, isFinal: true }, NOON).kind;
      const empty = stateOf([budget, budgetOf({ name: "all" })]);
      assert.equal(decide(empty), "allow");
      const asked = budgetTransition(empty, { kind: "call_asked", facts }, NOON);
      assert.deepEqual(asked.effects, [{ kind: "load_sums", budget: "daily", key: session, from: 0 }]);
      const refused = budgetTransition(empty, { kind: "call_refused", budget: "daily", facts }, NOON).state;
      assert.equal(decide(refused), "refuse");
      const one = apply(empty, [booked(cents(1), NOON, facts)], NOON).state;
      assert.deepEqual([decide(one), spentOf(one, NOON, "", 1)], ["allow", USD / 100n]);
      assert.equal(decide(apply(one, [admitted("1", cents(1), facts)], NOON).state), "refuse");
      const parts: SumPart[] = [{ at: 0, used: 2n, calls: 2, unknown: 0 }];
      const sums: LoadedSum[] = [{ key: session, parts, fired: [] }];
      const stored = apply(empty, [{ kind: "sums_loaded", budget: "daily", key: null, sums }], NOON).state;
      assert.deepEqual([decide(stored), Object.keys(stored.budgets[0]?.sums ?? {})], ["refuse", [session]]);
    });

  it("holds the sums of more stored sessions than it keeps, beside those in flight", () => {
    const perSession = budgetOf({ name: "session", limit: USD, period: { kind: "session" } });
    const inFlight = apply(
      stateOf([perSession]),
      [admitted("1", cents(1), { ...metered, session: "now" })],
      NOON,
    );
    const sums = Array.from({ length: MAX_BUDGET_SESSIONS }, (_, index) => ({
      key: `stored ${index}`,
      parts: [{ at: 0, used: 2n * USD, calls: 1, unknown: 0 }],
      fired: [],
    }));
    const { state, effects } = apply(
      inFlight.state,
      [{ kind: "sums_loaded", budget: "session", key: null, sums }],
      NOON,
    );
    const kept = Object.keys(state.budgets[0]?.sums ?? {});
    assert.equal(kept.length, MAX_BUDGET_SESSIONS);
    assert.ok(kept.includes("now"));
    assert.ok(thresholdsOf(effects).length >= MAX_BUDGET_SESSIONS - 1);
  });

  it("makes no forecast from few calls", () => {
    const { effects } = apply(stateOf([budgetOf()]), [booked(cents(400)), passed], NOON);
    assert.deepEqual(effects, []);
  });
});

const sessions: fc.Arbitrary<string> = fc.constantFrom("a", "b");
const use = fc.oneof(
  { weight: 5, arbitrary: fc.nat(60).map(cents) },
  { weight: 1, arbitrary: fc.constant<CallUse>({ costPicoUsd: null, tokens: null }) },
);

/** A client's action: it begins a call, ends one, or its record is stored. */
const moves = fc.array(
  fc.record({
    kind: fc.constantFrom("begin", "begin", "begin", "end", "end", "lose", "wait", "read", "reopen"),
    session: sessions,
    bound: use,
    part: fc.nat(100),
    afterMs: fc.nat(20 * 60_000),
    place: fc.nat(9),
  }),
  { maxLength: 60 },
);

const budgetsOf = (reserve: boolean): Budget[] => [
  budgetOf({ reserve }),
  budgetOf({ name: "hourly", limit: 3n * USD, reserve, period: { kind: "hour", zone: "Asia/Kolkata" } }),
  budgetOf({ name: "session", limit: 2n * USD, reserve, period: { kind: "session" } }),
  budgetOf({ name: "rolling", limit: 4n * USD, reserve, period: { kind: "rolling", lengthMs: HOUR } }),
  budgetOf({
    ...{ name: "guard", limit: USD / 2n, reserve, coolDownMs: HOUR, scope: { session: ["a"] } },
    period: { kind: "rolling", lengthMs: 10 * 60_000 },
  }),
];

/** More sessions than a budget holds, the latest last, each with 19 cents left. */
const storedSessions: readonly BookedCall[] = Array.from(
  { length: MAX_BUDGET_SESSIONS + 20 },
  (_, index) => ({
    ...cents(181),
    at: NOON - 2 * DAY + index,
    facts: { ...metered, session: `stored ${index}` },
  }),
);

/** The sums of a budget according to the records: of the latest sessions, or of one key. */
function storedSums(
  budget: Budget,
  key: string | null,
  records: readonly BookedCall[],
  now: number,
): LoadedSum[] {
  const bounds = budgetPeriod(budget, now);
  const sums = new Map<string, Map<number, SumPart>>();
  for (const { at, facts, costPicoUsd } of records.toReversed()) {
    const of = sumKey(budget, facts);
    if (at < bounds.from || matchesScope(budget, facts) !== true || (key !== null && of !== key)) continue;
    if (!sums.has(of) && sums.size >= MAX_BUDGET_SESSIONS) continue;
    const parts = sums.get(of) ?? new Map<number, SumPart>();
    sums.set(of, parts);
    const start = partStart(budget.period, bounds, at);
    const { used, calls, unknown } = parts.get(start) ?? { used: 0n, calls: 0, unknown: 0 };
    parts.set(start, {
      at: start,
      used: used + (costPicoUsd ?? 0n),
      calls: calls + 1,
      unknown: unknown + (costPicoUsd === null ? 1 : 0),
    });
  }
  return [...sums].map(([of, parts]) => ({
    key: of,
    parts: [...parts.values()].sort((one, other) => one.at - other.at),
    fired: [],
  }));
}

/** Runs actions through decision and transition, and returns the final state with what was recorded. */
function simulate(
  all: typeof moves extends fc.Arbitrary<infer T> ? T : never,
  reserve: boolean,
  stored: readonly BookedCall[] = [],
) {
  let state = deepFreeze(stateOf(budgetsOf(reserve)));
  let now = NOON;
  let id = 0;
  const open: { id: string; at: number; bound: CallUse; session: string }[] = [];
  const records = [...stored];
  let coolDownEnd = 0;
  const send = (event: BudgetEvent) => {
    const step = budgetTransition(state, deepFreeze(event), now);
    // To compare the sums of 500 sessions after each event would take most of the time.
    if (stored.length === 0)
      assert.deepEqual(budgetTransition(state, event, now), step, "the same input gives the same step");
    state = deepFreeze(step.state);
    for (const effect of step.effects) {
      if (effect.kind === "trip_guard") coolDownEnd = effect.until;
      if (effect.kind !== "load_sums") continue;
      const each = state.budgets.find(({ active }) => active.budget.name === effect.budget) as BudgetState;
      const sums = storedSums(each.active.budget, effect.key, records, now);
      send({ kind: "sums_loaded", budget: effect.budget, key: effect.key, sums });
    }
  };
  for (const { active } of state.budgets)
    send({
      ...{ kind: "sums_loaded", budget: active.budget.name, key: null },
      sums: storedSums(active.budget, null, records, now),
    });
  for (const move of all) {
    now += move.kind === "wait" ? move.afterMs : 1;
    const facts = { ...metered, session: move.session };
    const ending = open[move.place % Math.max(1, open.length)];
    if (move.kind === "read") send({ kind: "sums_lost" });
    else if (move.kind === "reopen") {
      // Nothing has been read when the budgets are set.
      state = deepFreeze(budgetTransition(state, { kind: "sums_lost" }, now).state);
      send({ kind: "budgets_set", budgets: state.budgets.map(({ active }) => active) });
    } else if (move.kind === "begin") {
      send({ kind: "call_asked", facts });
      const decision = decideCall(state, { facts, bound: move.bound, isFinal: true }, now);
      if (decision.kind === "refuse") send({ kind: "call_refused", budget: decision.budget, facts });
      if (decision.kind !== "allow") continue;
      assert.ok(
        move.session !== "a" || now >= coolDownEnd || move.bound.costPicoUsd === 0n,
        "a guard refuses calls that cost something until its cool-down is over",
      );
      id += 1;
      open.push({ id: `${id}`, at: now, bound: move.bound, session: move.session });
      send({ kind: "call_admitted", call: `${id}`, facts, bound: move.bound });
    } else if (move.kind === "wait") send(passed);
    else if (ending !== undefined) {
      open.splice(open.indexOf(ending), 1);
      const { costPicoUsd } = ending.bound;
      const spent = costPicoUsd === null ? null : (costPicoUsd * BigInt(move.part)) / 100n;
      const record = {
        costPicoUsd: spent,
        tokens: 1,
        at: ending.at,
        facts: { ...metered, session: ending.session },
      };
      if (move.kind === "end") {
        records.push(record);
        send({ kind: "calls_booked", added: [record], removed: [] });
      }
      send({ kind: "call_ended", call: ending.id });
    }
  }
  return { state, now, open, records, send, current: () => state };
}

/** The largest sum of a budget's records in any of its periods. */
function worstSum(budget: Budget, records: readonly BookedCall[]): bigint {
  const sums = records.map(({ at: end, facts: { session } }) => {
    const { from } = budgetPeriod(budget, end);
    const own = records.filter(
      ({ at, facts }) =>
        at >= from &&
        at <= end &&
        matchesScope(budget, facts) === true &&
        (budget.period.kind !== "session" || facts.session === session),
    );
    return own.reduce((total, { costPicoUsd }) => total + (costPicoUsd ?? 0n), 0n);
  });
  return sums.sort((one, other) => (one < other ? -1 : 1)).at(-1) ?? 0n;
}

describe("budgets that block", () => {
  it("never exceed the amount with reservations, and exceed it by at most one call without, in any order of events", () => {
    fc.assert(
      fc.property(moves, fc.boolean(), (all, reserve) => {
        const { records } = simulate(all, reserve);
        const largest = cents(60).costPicoUsd as bigint;
        for (const budget of budgetsOf(reserve))
          assert.ok(worstSum(budget, records) <= budget.limit + (reserve ? 0n : largest), budget.name);
      }),
      { numRuns: 300 },
    );
  });

  it("have sums that equal those of the records, and hold nothing once all calls have ended", () => {
    fc.assert(
      fc.property(moves, fc.boolean(), (all, reserve) => {
        const { send, open, records, now, current } = simulate(all, reserve);
        for (const { id } of open) send({ kind: "call_ended", call: id });
        const state = current();
        assert.deepEqual(state.calls, []);
        for (const [at, { active, sums }] of state.budgets.entries()) {
          const { from } = budgetPeriod(active.budget, now);
          const isSession = active.budget.period.kind === "session";
          for (const [key, sum] of Object.entries(sums)) {
            assert.deepEqual([sum.inFlight, sum.callsInFlight, sum.unbounded], [0n, 0, 0]);
            const own = records.filter(
              (each) =>
                each.at >= from &&
                matchesScope(active.budget, each.facts) === true &&
                (!isSession || each.facts.session === key),
            );
            const used = own.reduce((total, { costPicoUsd }) => total + (costPicoUsd ?? 0n), 0n);
            assert.equal(spentOf(state, now, key, at), used);
            assert.equal(callsSince(sum, from, now).calls, own.length);
          }
        }
      }),
      { numRuns: 300 },
    );
  });

  it("have exact sums of sessions when more are stored than are held", () => {
    const pool = fc.constantFrom("a", "stored 0", "stored 7", "stored 18", "stored 519");
    const withStored = moves.chain((all) =>
      fc
        .array(pool, { minLength: all.length, maxLength: all.length })
        .map((names) => all.map((move, at) => ({ ...move, session: names[at] as string }))),
    );
    fc.assert(
      fc.property(withStored, (all) => {
        const { state, records } = simulate(all, true, storedSessions);
        const sums = state.budgets.find(({ active }) => active.budget.name === "session")?.sums ?? {};
        for (const [key, sum] of Object.entries(sums)) {
          const own = records.filter(({ facts }) => facts.session === key);
          const used = own.reduce((total, { costPicoUsd }) => total + (costPicoUsd ?? 0n), 0n);
          assert.equal(usedSince(sum, 0, NOON), used, key);
          assert.ok(used <= 2n * USD, key);
        }
      }),
      { numRuns: 15 },
    );
  });

  // Planted: `usedSince()` without `part.at <= now`, `passTime()` without `withinLengths()`.
  it("refuse calls for no longer than the period or the cool-down after the clock is set back", () => {
    const guard = budgetOf({
      ...{ unit: "requests", limit: 2n, coolDownMs: 10 * 60_000 },
      period: { kind: "rolling", lengthMs: 60_000 },
    });
    const window = { ...guard, name: "window", coolDownMs: null };
    const begun = fc.array(
      fc.record({ kind: fc.constantFrom("booked", "in flight"), afterMs: fc.nat(30_000) }),
      {
        ...{ minLength: 1, maxLength: 12 },
      },
    );
    const backwards = fc.oneof(fc.nat(15 * 60_000), fc.nat(3 * DAY));
    fc.assert(
      fc.property(begun, backwards, fc.boolean(), fc.nat(60_000), (all, backMs, isRead, waitMs) => {
        let now = NOON;
        let state = stateOf([guard, window], now);
        const records: BookedCall[] = [];
        const send = (event: BudgetEvent) => {
          const step = budgetTransition(state, event, now);
          state = step.state;
          for (const effect of step.effects) {
            if (effect.kind !== "load_sums") continue;
            const sums = storedSums(guard, effect.key, records, now);
            send({ kind: "sums_loaded", budget: effect.budget, key: effect.key, sums });
          }
        };
        for (const [id, { kind, afterMs }] of all.entries()) {
          now += afterMs;
          const record = { ...cents(1), at: now, facts: metered };
          if (kind === "booked") records.push(record);
          send(kind === "booked" ? booked(cents(1), now) : admitted(`${id}`, cents(1)));
          send({ kind: "call_refused", budget: "daily", facts: metered });
        }
        const [first, last] = [NOON + (all[0]?.afterMs ?? 0), now];
        const stepped = now - backMs;
        now = stepped + Math.min(waitMs, backMs);
        send(passed);
        if (isRead) send({ kind: "sums_lost" });
        const decide = (name: string) => {
          const own = {
            ...state,
            budgets: state.budgets.filter(({ active }) => active.budget.name === name),
          };
          return decideCall(own, { facts: metered, bound: cents(1), isFinal: true }, now);
        };
        const allowedAt = { daily: now + 10 * 60_000, window: now + 61_001 };
        for (const [name, at] of Object.entries(allowedAt)) {
          const decision = decide(name);
          if (decision.kind === "refuse") assert.ok((decision.periodEnd ?? now) <= at, name);
        }
        // When the times of the calls come again, the calls count again: for a period, and trip the guard.
        const again = { window: 61_000, daily: 61_000 + 10 * 60_000 };
        for (const name of ["window", "daily"] as const) {
          const isAgain = () => now >= first && now <= last + again[name];
          for (; now <= allowedAt[name] || isAgain(); now += 1_000) send(passed);
          assert.equal(decide(name).kind, "allow", name);
        }
      }),
      { numRuns: 200 },
    );
  });

  it("survive JSON, with bigints as texts", () => {
    fc.assert(
      fc.property(moves, (all) => {
        const { state } = simulate(all, true);
        const text = JSON.stringify(state, (_, value) =>
          typeof value === "bigint" ? { big: `${value}` } : value,
        );
        const read = JSON.parse(text, (_, value) =>
          typeof value?.big === "string" ? BigInt(value.big) : value,
        );
        assert.deepEqual(read, state);
      }),
      { numRuns: 50 },
    );
  });
});
