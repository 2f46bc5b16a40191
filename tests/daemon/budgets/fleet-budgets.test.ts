import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createManualClock } from "../../../adapters/clock/manual-clock.ts";
import type { Budget } from "../../../core/budgets/budget.ts";
import { FLEET_HOLD_MS } from "../../../core/budgets/fleet-share.ts";
import type { BudgetNotice } from "../../../daemon/budgets/budget-notice.ts";
import { createBudgetTracker } from "../../../daemon/budgets/budget-tracker.ts";
import { budgetViews, describeBudgetTroubles } from "../../../daemon/budgets/budget-views.ts";
import { saveFleetBudgets } from "../../../daemon/budgets/fleet-budgets.ts";
import type { Store } from "../../../daemon/store/port/store.ts";
import { budgetOf, cents, metered, USD } from "../../core/budgets/budgets.rig.ts";
import { withStore } from "../store/open-sample-store.rig.ts";
import { noon, sampleRecord } from "../store/sample-records.rig.ts";

const day = new Date(Math.floor(noon / 86_400_000) * 86_400_000).toISOString();
const address = "https://cloud.example/w/w1/budgets";

const stated = (elsewhere: bigint, given: Record<string, unknown> = {}) => ({
  ...{ name: "all", subject: "workspace", target: null, amount: "10 USD", period: "day", zone: "UTC" },
  ...{ thresholds: [50, 100], at_limit: "block", reserve: false, fail: "open", paused: false },
  ...{ lifted_until: null, period_from: day, here: "0", elsewhere: `${elsewhere}`, ...given },
});

async function track(store: Store, configured: readonly Budget[] = []) {
  const clock = createManualClock(noon);
  const notices: BudgetNotice[] = [];
  const tracker = createBudgetTracker({
    ...{ store, configured, place: {}, clock },
    onNotice: (notice) => void notices.push(notice),
    onFailure(cause) {
      throw cause;
    },
  });
  await store.opened;
  await Promise.resolve();
  return {
    clock,
    notices,
    tracker,
    state(...budgets: ReturnType<typeof stated>[]) {
      saveFleetBudgets(store.notes, { workspace: "Work", address, at: clock.now(), budgets });
      tracker.refreshFleet();
    },
    spend(count: number) {
      const record = sampleRecord({ requestedAt: noon, costPicoUsd: cents(count).costPicoUsd });
      const batch = { records: [record], bodies: [], coverage: [] };
      tracker.store(batch, () => store.insertBatch(batch));
    },
    decide: () => tracker.decide({ facts: metered, bound: cents(1), isFinal: true }),
    views: () => budgetViews(tracker.state(), clock.now(), { configured }),
  };
}

describe("fleet budgets on a machine", () => {
  it("refuse calls once all machines together have used them up, and count the machine's own calls at once", () =>
    withStore(async (store) => {
      const { state, spend, decide, views } = await track(store);
      state(stated(9n * USD));
      spend(99);
      assert.equal(decide().kind, "allow");
      spend(1);
      const refused = decide();
      assert.ok(refused.kind === "refuse");
      assert.deepEqual(
        [refused.budget, refused.isFleet, refused.spent, refused.limit],
        ["workspace/all", true, 10n * USD, 10n * USD],
      );
      const [view] = views();
      assert.deepEqual(
        [view?.source, view?.status, view?.spent, view?.calls, view?.fleet],
        [
          ...["workspace", "exceeded", `${10n * USD}`, 2],
          {
            ...{ workspace: "Work", address, subject: "workspace", elsewhere: `${9n * USD}` },
            stated_at: new Date(noon).toISOString(),
          },
        ],
      );
    }));

  it("apply beside the machine's own budgets, and replace one that took their name", () =>
    withStore(async (store) => {
      const own = [budgetOf({ name: "all" }), budgetOf({ name: "workspace/all", atLimit: "warn" })];
      const { state, views } = await track(store, own);
      assert.deepEqual(
        views().map(({ source }) => source),
        ["config.toml", "config.toml"],
      );
      state(stated(0n));
      assert.deepEqual(
        views().map(({ name, source }) => [name, source]),
        [
          ["workspace/all", "workspace"],
          ["all", "config.toml"],
        ],
      );
    }));

  it("that are damaged do not keep the machine's own budgets from applying", () =>
    withStore(async (store) => {
      const whole = { workspace: "Work", address, at: noon, budgets: [stated(0n)] };
      const damaged = [
        ...["junk", "null", "[]", "{}"],
        ...[{ at: "noon" }, { address: 5 }, { workspace: null }, { budgets: [{ name: "all" }] }].map(
          (change) => JSON.stringify({ ...whole, ...change }),
        ),
      ];
      const names = async (text: string) => {
        store.notes.write("fleet_budgets", text);
        const { views, tracker } = await track(store, [budgetOf({ name: "own" })]);
        tracker.stop();
        return views().map(({ name, status }) => `${name} ${status}`);
      };
      assert.deepEqual(await names(JSON.stringify(whole)), ["workspace/all ok", "own ok"]);
      for (const text of damaged) assert.deepEqual(await names(text), ["own ok"], text);
    }));

  it("warn of the sum of all machines, once", () =>
    withStore(async (store) => {
      const { state, spend, notices } = await track(store);
      spend(1);
      state(stated(5n * USD));
      state(stated(6n * USD));
      assert.deepEqual(
        notices.map((notice) => [notice.event, "used" in notice && notice.used]),
        [["budget.warning", 5n * USD + USD / 100n]],
      );
    }));

  it("follow a change of the amount, a pause and a lift in the cloud", () =>
    withStore(async (store) => {
      const { state, spend, decide, notices } = await track(store);
      spend(1);
      state(stated(10n * USD));
      assert.equal(decide().kind, "refuse");
      state(stated(10n * USD, { amount: "20 USD" }));
      assert.equal(decide().kind, "allow");
      state(stated(10n * USD));
      assert.equal(decide().kind, "refuse");
      state(stated(10n * USD, { paused: true }));
      assert.equal(decide().kind, "allow");
      state(stated(10n * USD, { lifted_until: new Date(noon + 60_000).toISOString() }));
      assert.equal(decide().kind, "allow");
      assert.equal(notices.at(-1)?.event, "budget.lifted");
      state();
      assert.equal(decide().kind, "allow");
    }));

  it("apply for 24 hours without the cloud, and then allow calls unless they fail closed", () =>
    withStore(async (store) => {
      const { state, decide, views, clock } = await track(store);
      const total = { period: "total", zone: null, period_from: new Date(0).toISOString() };
      state(stated(10n * USD, total));
      clock.advance(FLEET_HOLD_MS);
      assert.equal(decide().kind, "refuse");
      clock.advance(1);
      assert.deepEqual(decide(), {
        kind: "allow",
        letThrough: [{ budget: "workspace/all", reason: "fleet" }],
      });
      assert.equal(views()[0]?.status, "outdated");
      assert.match(
        describeBudgetTroubles(views())[0] ?? "",
        /^The cloud was last reached on 20\d\d-\d\d-\d\d \d\d:\d\d UTC, so what other machines spent of budget workspace\/all is not known\.$/,
      );
      state(stated(0n, { ...total, fail: "closed" }));
      clock.advance(FLEET_HOLD_MS + 1);
      assert.equal(decide().kind, "refuse");
      assert.match(describeBudgetTroubles(views())[0] ?? "", /Its calls are refused\.$/);
    }));

  it("are read from the database at the start", () =>
    withStore(async (store) => {
      (await track(store)).state(stated(10n * USD));
      const { decide } = await track(store);
      assert.equal(decide().kind, "refuse");
    }));
});
