import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { createManualClock } from "../../../adapters/clock/manual-clock.ts";
import { type Budget, matchesScope } from "../../../core/budgets/budget.ts";
import { budgetPeriod } from "../../../core/budgets/budget-period.ts";
import { callsSince, usedSince } from "../../../core/budgets/budget-state.ts";
import { toBudgetInput } from "../../../core/budgets/parse-budget.ts";
import { StoreError } from "../../../core/ports/sqlite.ts";
import { effectiveBilling } from "../../../core/values/billing.ts";
import type { RequestRecord } from "../../../core/values/record.ts";
import type { BudgetNotice } from "../../../daemon/budgets/budget-notice.ts";
import { type BudgetTracker, createBudgetTracker } from "../../../daemon/budgets/budget-tracker.ts";
import {
  budgetViews,
  describeBudgetTroubles,
  SESSION_SHOWN_MS,
} from "../../../daemon/budgets/budget-views.ts";
import { readBudgetsState } from "../../../daemon/budgets/load-budgets.ts";
import type { BudgetAction } from "../../../daemon/store/port/budgets.ts";
import type { Store } from "../../../daemon/store/port/store.ts";
import { budgetOf, cents, metered, USD } from "../../core/budgets/budgets.rig.ts";
import { withStore } from "../store/open-sample-store.rig.ts";
import { noon, sampleRecord } from "../store/sample-records.rig.ts";

const place = { machine: "here", person: "me" };
const action: BudgetAction = { at: noon, action: "set", actor: "me", reason: null, until: null };
const costing = (count: number, given: Partial<RequestRecord> = {}) =>
  sampleRecord({ requestedAt: noon, costPicoUsd: cents(count).costPicoUsd, ...given });

async function track(
  store: Store,
  configured: readonly Budget[] = [],
  at = noon,
  onFailure = (cause: unknown): void => {
    throw cause;
  },
) {
  const clock = createManualClock(at);
  const notices: BudgetNotice[] = [];
  const ports = {
    store,
    configured,
    place,
    clock,
    onNotice: (notice: BudgetNotice) => void notices.push(notice),
    onFailure,
  };
  const tracker = createBudgetTracker(ports);
  await store.opened;
  await Promise.resolve();
  const add = (records: readonly RequestRecord[], attributed: readonly RequestRecord[] = []) => {
    const batch = { records, attributed, bodies: [], coverage: [] };
    tracker.store(batch, (onExisting) => store.insertBatch(batch, onExisting));
  };
  return { tracker, notices, clock, add };
}

function spentOf(tracker: BudgetTracker, name = "daily", key = ""): bigint | null {
  const each = tracker.state().budgets.find(({ active }) => active.budget.name === name);
  if (each === undefined || !each.isKnown) return null;
  const sum = each.sums[key];
  return sum === undefined ? 0n : usedSince(sum, budgetPeriod(each.active.budget, noon).from, noon);
}

describe("createBudgetTracker()", () => {
  it("counts records as they are stored, once", () =>
    withStore(async (store) => {
      const { tracker, add } = await track(store, [budgetOf()]);
      const record = costing(5);
      add([record]);
      add([record, costing(2)]);
      assert.equal(spentOf(tracker), cents(7).costPicoUsd);
      tracker.stop();
    }));

  it("counts spend only: no plan usage, no log, no refused call", () =>
    withStore(async (store) => {
      const { tracker, add } = await track(store, [
        budgetOf(),
        budgetOf({ name: "plan", scope: { billing: ["plan"] } }),
        budgetOf({ name: "calls", unit: "requests", limit: 10n }),
      ]);
      add([
        costing(1),
        costing(2, { billingMode: "credits" }),
        costing(4, { billingMode: "plan" }),
        costing(8, { billingMode: "unknown" }),
        costing(16, { recordSource: "logs" }),
        costing(0, { blockedBy: "daily", httpStatus: 429 }),
        costing(0, { costPicoUsd: null, costSource: "unpriced" }),
      ]);
      assert.equal(spentOf(tracker), cents(3).costPicoUsd);
      assert.equal(spentOf(tracker, "plan"), cents(4).costPicoUsd);
      assert.equal(spentOf(tracker, "calls"), 5n);
      const sum = tracker.state().budgets[0]?.sums[""];
      assert.deepEqual(sum && callsSince(sum, 0, noon), { calls: 4, unknown: 2 });
      tracker.stop();
    }));

  it("follows the caller that is found later, and what other programs change", () =>
    withStore(async (store) => {
      const { tracker, add } = await track(store, [budgetOf({ scope: { project: ["shop"] } })]);
      const record = costing(5, { project: "misc", attributionDueAt: noon + 1_000 });
      add([record]);
      assert.equal(spentOf(tracker), 0n);
      const { attributionDueAt: _, ...final } = record;
      add([], [{ ...final, project: "shop" }]);
      assert.equal(spentOf(tracker), cents(5).costPicoUsd);
      store.reassignments.move(
        { fromProject: "shop", toProject: "other", period: { from: 0, to: noon * 2 } },
        noon,
      );
      tracker.refresh();
      assert.equal(spentOf(tracker), 0n);
      store.reassignments.undo();
      tracker.refresh();
      assert.equal(spentOf(tracker), cents(5).costPicoUsd);
      store.records.updateCosts(
        [{ requestId: record.requestId, costPicoUsd: USD, costSource: "computed", ratesSource: "operator" }],
        noon,
      );
      tracker.refresh();
      assert.equal(spentOf(tracker), USD);
      store.deletion.deleteRequests([record.requestId]);
      tracker.refresh();
      assert.equal(spentOf(tracker), 0n);
      tracker.stop();
    }));

  it("warns once at a threshold, also after a restart", () =>
    withStore(async (store) => {
      const first = await track(store, [budgetOf()]);
      first.add([costing(850)]);
      first.add([costing(1)]);
      first.tracker.stop();
      assert.deepEqual(
        first.notices.map((notice) => [notice.event, "threshold" in notice && notice.threshold]),
        [["budget.warning", 80]],
      );
      const second = await track(store, [budgetOf()]);
      second.add([costing(1)]);
      assert.deepEqual(second.notices, []);
      second.add([costing(200)]);
      assert.deepEqual(
        second.notices.map(({ event }) => event),
        ["budget.exceeded"],
      );
      second.tracker.stop();
    }));

  it("stops the calls of a guard until its cool-down is over, also after a restart, and says so once", () =>
    withStore(async (store) => {
      const period = { kind: "rolling", lengthMs: 60_000 } as const;
      const guard = budgetOf({ unit: "requests", limit: 1n, period, coolDownMs: 600_000 });
      const decide = ({ tracker }: Awaited<ReturnType<typeof track>>) =>
        tracker.decide({ facts: metered, bound: cents(1), isFinal: true });
      const first = await track(store, [guard]);
      first.add([costing(1)]);
      first.tracker.refused("daily", metered);
      first.tracker.stop();
      const second = await track(store, [guard], noon + 300_000);
      const decision = decide(second);
      assert.equal("periodEnd" in decision && decision.periodEnd, noon + 600_000);
      second.tracker.stop();
      const third = await track(store, [guard], noon + 600_000);
      assert.equal(decide(third).kind, "allow");
      third.tracker.stop();
      const events = [first, second, third].flatMap(({ notices }) => notices.map(({ event }) => event));
      assert.deepEqual(events, ["budget.guard_tripped"]);
    }));

  it("says that a session has used up its own amount, not the budget of all sessions", () =>
    withStore(async (store) => {
      const budget = budgetOf({ name: "each", period: { kind: "session" }, atLimit: "block" });
      const { tracker, add } = await track(store, [budget]);
      add([costing(2_000, { sessionId: "s1" }), costing(1, { sessionId: "s2" })]);
      tracker.stop();
      assert.deepEqual(describeBudgetTroubles(budgetViews(tracker.state(), noon, { configured: [budget] })), [
        "A session has used up its budget each: $20.00 of $10.00. Its calls are refused. meter budget show each",
      ]);
    }));

  it("shows no session that made no call for an hour, unless it is asked for, also after a restart", () =>
    withStore(async (store) => {
      const budget = budgetOf({ name: "each", period: { kind: "session" }, atLimit: "block" });
      const first = await track(store, [budget]);
      first.add([
        costing(2_000, { sessionId: "ended", requestedAt: noon - 2_000 }),
        costing(900, { sessionId: "recent", requestedAt: noon }),
      ]);
      const later = noon + SESSION_SHOWN_MS - 1_000;
      first.tracker.stop();
      const { tracker, clock } = await track(store, [budget], later);
      const shown = (session: string | null = null) => {
        const [view] = budgetViews(tracker.state(), clock.now(), { configured: [budget], session });
        return [view?.session, view?.used_percent, view?.status];
      };
      assert.deepEqual(shown(), ["recent", 90, "warning"]);
      assert.deepEqual(shown("ended"), ["ended", 200, "exceeded"]);
      assert.deepEqual(shown("unknown"), ["recent", 90, "warning"]);
      assert.deepEqual(
        describeBudgetTroubles(budgetViews(tracker.state(), clock.now(), { configured: [budget] })),
        [],
      );
      clock.advance(1_001);
      assert.deepEqual(shown(), [null, 0, "ok"]);
      tracker.refused("each", { ...metered, session: "ended" });
      assert.deepEqual(shown(), ["ended", 200, "exceeded"]);
      tracker.stop();
    }));

  it("warns again for a budget that was removed and set again, and reads one whose stored warnings are damaged", () =>
    withStore(async (store) => {
      const set = () => store.budgets.save("daily", JSON.stringify(toBudgetInput(budgetOf())), action);
      const warnings = async (used: number) => {
        const { add, tracker, notices } = await track(store, []);
        add([costing(used)]);
        tracker.stop();
        return notices.length;
      };
      set();
      assert.equal(await warnings(850), 1);
      assert.equal(await warnings(1), 0);
      store.budgets.remove("daily", action);
      set();
      assert.equal(await warnings(1), 1);
      const damaged = "junk" as unknown as bigint;
      store.budgets.addWarnings([{ budget: "daily", key: "", threshold: 50, limit: damaged, at: noon }]);
      assert.equal(await warnings(1), 0);
      store.budgets.forgetWarnings("daily");
      assert.equal(await warnings(1), 1);
    }));

  it("takes budgets that another program sets, lifts, pauses and removes, but those of config.toml win", () =>
    withStore(async (store) => {
      const { tracker, notices, add } = await track(store, [budgetOf({ name: "file" })]);
      const set = (budget: Budget) =>
        store.budgets.save(budget.name, JSON.stringify(toBudgetInput(budget)), action);
      set(budgetOf({ name: "file", limit: 1n }));
      set(budgetOf({ name: "cli" }));
      add([costing(2_000)]);
      assert.deepEqual(
        tracker.state().budgets.map(({ active }) => [active.budget.name, active.budget.limit]),
        [
          ["file", 10n * USD],
          ["cli", 10n * USD],
        ],
      );
      const decide = () => tracker.decide({ facts: metered, bound: cents(1), isFinal: true }).kind;
      assert.equal(decide(), "refuse");
      for (const name of ["file", "cli"])
        store.budgets.mark(
          { name, isPaused: false, liftedUntil: noon + 1_000 },
          { ...action, action: "lifted" },
        );
      tracker.refresh();
      assert.equal(decide(), "allow");
      assert.deepEqual(
        notices.filter(({ event }) => event === "budget.lifted").map(({ budget }) => budget.name),
        ["file", "cli"],
      );
      assert.equal(store.budgets.remove("cli", action), true);
      assert.equal(store.budgets.remove("cli", action), false);
      tracker.refresh();
      assert.equal(tracker.state().budgets.length, 1);
      assert.deepEqual(
        store.budgets.actions("cli", 9).map((each) => each.action),
        ["set", "lifted", "set"],
      );
      tracker.stop();
    }));

  it("has no sums while the store fails, and the right ones once it works", () =>
    withStore(async (store) => {
      const broken: { -readonly [Key in keyof Store]: Store[Key] } = { ...store };
      const { tracker, add } = await track(broken, [budgetOf({ fail: "closed" })]);
      add([costing(5)]);
      broken.trouble = new StoreError("busy", "locked");
      tracker.refresh();
      assert.equal(spentOf(tracker), null);
      store.insertBatch({ records: [costing(7)], bodies: [], coverage: [] });
      broken.trouble = null;
      tracker.refresh();
      assert.equal(spentOf(tracker), cents(12).costPicoUsd);
      tracker.stop();
    }));

  describe("after one read that failed", () => {
    const withFailingStore = (
      run: (
        store: Store,
        daily: { readonly fail: (name: "list" | "calls") => void } & Omit<
          Awaited<ReturnType<typeof track>>,
          "notices" | "clock"
        >,
      ) => void,
    ) =>
      withStore(async (store) => {
        const budgets = { ...store.budgets };
        const failures: unknown[] = [];
        const onFailure = (cause: unknown) => void failures.push(cause);
        const { tracker, add } = await track({ ...store, budgets }, [], noon, onFailure);
        const fail = (name: "list" | "calls") => {
          budgets[name] = () => {
            Object.assign(budgets, { [name]: store.budgets[name] });
            throw new StoreError("io", "disk I/O error");
          };
        };
        run(store, { tracker, add, fail });
        assert.equal(failures.length, 1);
        tracker.refresh();
        assert.equal(spentOf(tracker), cents(5).costPicoUsd);
        tracker.stop();
      });
    const saveDaily = (store: Store, tracker: BudgetTracker) => {
      const input = JSON.stringify(toBudgetInput(budgetOf({ scope: { project: ["shop"] } })));
      store.budgets.save("daily", input, action);
      tracker.refresh();
    };

    it("reads the budgets again", () =>
      withFailingStore((store, { tracker, add, fail }) => {
        add([costing(5, { project: "shop" })]);
        fail("list");
        saveDaily(store, tracker);
      }));

    it("reads the sums again if the caller of a call was found", () =>
      withFailingStore((store, { tracker, add, fail }) => {
        saveDaily(store, tracker);
        const record = costing(5, { project: "misc", attributionDueAt: noon + 1_000 });
        add([record]);
        fail("calls");
        const { attributionDueAt: _, ...final } = record;
        add([], [{ ...final, project: "shop" }]);
      }));

    it("reads the sums again if a record was completed", () =>
      withFailingStore((store, { tracker, add, fail }) => {
        saveDaily(store, tracker);
        const record = costing(2, { project: "shop", tokensComplete: false });
        add([record]);
        fail("calls");
        add([{ ...record, tokensComplete: true, costPicoUsd: cents(5).costPicoUsd }]);
      }));
  });

  it("counts a record that completes another one of its batch once, and reads no new record again", () =>
    withStore(async (store) => {
      const read: string[] = [];
      const budgets = {
        ...store.budgets,
        calls(ids: readonly string[]) {
          read.push(...ids);
          return store.budgets.calls(ids);
        },
      };
      const { tracker, add } = await track({ ...store, budgets }, [budgetOf({ limit: USD * 100n })]);
      const [once, twice] = [costing(1), costing(2, { tokensComplete: false })];
      add([once]);
      assert.deepEqual(read, []);
      add([twice, { ...twice, tokensComplete: true, costPicoUsd: cents(5).costPicoUsd }]);
      assert.equal(spentOf(tracker), cents(6).costPicoUsd);
      add([{ ...twice, tokensComplete: true }]);
      assert.equal(spentOf(tracker), cents(6).costPicoUsd);
    }));

  it("has the sums of the records after any changes, as a new reading has", async () => {
    const budgets = [
      budgetOf({ limit: USD * 1_000n }),
      budgetOf({
        name: "shop",
        scope: { project: ["shop"], model: ["m*"] },
        unit: "tokens",
        limit: 10n ** 9n,
      }),
      budgetOf({ name: "rolling", period: { kind: "rolling", lengthMs: 3_600_000 }, limit: USD * 1_000n }),
      budgetOf({ name: "session", period: { kind: "session" }, limit: USD * 1_000n }),
      budgetOf({ name: "all", period: { kind: "total" }, unit: "requests", limit: 10n ** 9n }),
    ];
    const moves = fc.array(
      fc.record({
        kind: fc.constantFrom(
          "insert",
          "insert",
          "insert",
          "again",
          "attribute",
          "reprice",
          "move",
          "undo",
          "delete",
        ),
        cost: fc.option(fc.nat(100), { freq: 6 }),
        project: fc.constantFrom("shop", "misc"),
        model: fc.constantFrom("m1", "n1"),
        session: fc.constantFrom("a", "b", null),
        billing: fc.constantFrom("metered" as const, "plan" as const, "unknown" as const, null),
        source: fc.constantFrom(null, null, "logs" as const),
        ageMs: fc.nat(2 * 86_400_000),
        place: fc.nat(20),
      }),
      { maxLength: 25 },
    );
    await fc.assert(
      fc.asyncProperty(moves, (all) =>
        withStore(async (store) => {
          const { tracker, add } = await track(store, budgets);
          const known: RequestRecord[] = [];
          for (const move of all) {
            const found = known[move.place % Math.max(1, known.length)];
            const costPicoUsd = move.cost === null ? null : cents(move.cost).costPicoUsd;
            if (move.kind === "insert" || found === undefined) {
              const record = sampleRecord({
                requestedAt: noon - move.ageMs,
                project: move.project,
                model: move.model,
                sessionId: move.session,
                billingMode: move.billing,
                recordSource: move.source,
                costPicoUsd,
                tokensComplete: move.place % 2 === 0,
                attributionDueAt: noon + 1,
              });
              known.push(record);
              add([record]);
            } else if (move.kind === "again") add([{ ...found, costPicoUsd, tokensComplete: true }]);
            else if (move.kind === "attribute")
              add([], [{ ...found, project: move.project, sessionId: move.session }]);
            else if (move.kind === "reprice")
              store.records.updateCosts(
                [{ requestId: found.requestId, costPicoUsd, costSource: "computed", ratesSource: "bundled" }],
                noon,
              );
            else if (move.kind === "move")
              store.reassignments.move(
                { fromProject: "shop", toProject: "misc", period: { from: 0, to: noon * 2 } },
                noon,
              );
            else if (move.kind === "undo") store.reassignments.undo();
            else store.deletion.deleteRequests([found.requestId]);
            tracker.refresh();
            compareWithRecords(tracker, store);
          }
          tracker.stop();
        }),
      ),
      { numRuns: 60 },
    );
  });
});

/** Compares the tracker's sums with those of a new reading, and with those of each record. */
function compareWithRecords(tracker: BudgetTracker, store: Store): void {
  const records = store.records.read({ from: null, to: null, afterSeq: 0, limit: 1_000 });
  const sources = {
    budgets: store.budgets,
    notes: store.notes,
    configured: tracker.state().budgets.map(({ active }) => active.budget),
    place,
  };
  const read = readBudgetsState(sources, noon);
  for (const [index, { active, sums }] of tracker.state().budgets.entries()) {
    const { budget } = active;
    const { from } = budgetPeriod(budget, noon);
    const others = read.budgets[index]?.sums ?? {};
    for (const key of new Set([...Object.keys(sums), ...Object.keys(others)])) {
      const own = records.filter((record) => {
        const facts = {
          ...place,
          project: record.project,
          model: record.model,
          session: record.sessionId,
          billing: effectiveBilling(record),
        };
        const isCounted = record.recordSource !== "logs" && record.requestedAt >= from;
        return isCounted && matchesScope(budget, facts) === true && (key === "" || record.sessionId === key);
      });
      const used = own.reduce((total, record) => {
        const { tokens } = record;
        const count = [
          tokens.promptTokens,
          tokens.cacheReadTokens,
          tokens.cacheWriteTokens,
          tokens.completionTokens,
        ];
        const spent = effectiveBilling(record) === "unknown" ? 0n : (record.costPicoUsd ?? 0n);
        if (budget.unit === "usd") return total + spent;
        return (
          total +
          (budget.unit === "requests" ? 1n : BigInt(count.reduce<number>((sum, n) => sum + (n ?? 0), 0)))
        );
      }, 0n);
      const usedOf = (all: typeof sums) => (all[key] === undefined ? 0n : usedSince(all[key], from, noon));
      const callsOf = (all: typeof sums) =>
        all[key] === undefined ? 0 : callsSince(all[key], from, noon).calls;
      assert.deepEqual([usedOf(sums), usedOf(others)], [used, used], `${budget.name} ${key}`);
      assert.deepEqual(
        [callsOf(sums), callsOf(others)],
        [own.length, own.length],
        `calls of ${budget.name} ${key}`,
      );
    }
  }
}
