import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, describe, it } from "node:test";
import { createManualClock, type ManualClock } from "../../../adapters/clock/manual-clock.ts";
import { StoreError } from "../../../core/ports/sqlite.ts";
import { listFleetBudgets } from "../../../daemon/budgets/fleet-budgets.ts";
import {
  createFleetSync,
  FLEET_IDLE_MS,
  FLEET_SYNC_MS,
  requestFleetBudgets,
} from "../../../daemon/cloud/fleet-sync.ts";
import { createMachine, type Machine, type ScriptedCloud, startScriptedCloud } from "./cloud.rig.ts";

const PATH = "/v1/daemon/budgets";
const NOW = Date.UTC(2026, 10, 21, 12);

const stated = (given: Record<string, unknown> = {}) => ({
  ...{ name: "all", subject: "workspace", target: null, amount: "10 USD", period: "day", zone: "UTC" },
  ...{ thresholds: [80], at_limit: "block", reserve: false, fail: "open", paused: false, lifted_until: null },
  ...{ period_from: "2026-11-21T00:00:00.000Z", here: "1000000000000", elsewhere: "9000000000000000" },
  ...given,
});

const answer = (...budgets: Record<string, unknown>[]) => ({ status: 200, body: { budgets } });

describe("the sync of fleet budgets", () => {
  let cloud: ScriptedCloud;
  let machine: Machine;
  let clock: ManualClock;
  const names = () => listFleetBudgets(machine.store.notes).map(({ budget }) => budget.name);

  before(async () => {
    cloud = await startScriptedCloud();
  });
  after(() => cloud.close());
  beforeEach(async () => {
    cloud.seen.length = 0;
    clock = createManualClock(NOW);
    machine = await createMachine(cloud.url, { clock });
  });
  afterEach(() => machine.close());

  it("saves the budgets with what other machines used, and where an administrator changes them", async () => {
    cloud.script(
      PATH,
      answer(
        stated(),
        stated({ name: "shop", subject: "project", target: "shop", lifted_until: "2026-11-21T13:00:00Z" }),
      ),
    );
    assert.equal(await requestFleetBudgets(machine.ports), "stated");
    const [all, shop] = listFleetBudgets(machine.store.notes);
    assert.deepEqual(all, {
      budget: {
        ...{ name: "workspace/all", scope: {}, unit: "usd", limit: 10n ** 13n },
        ...{ period: { kind: "day", zone: "UTC" }, thresholds: [80], atLimit: "block" },
        ...{ onExceed: "finish", reserve: false, fail: "open", coolDownMs: null },
      },
      isPaused: false,
      liftedUntil: null,
      fleet: {
        ...{ workspace: "Work", address: `${cloud.url}/w/w1/budgets`, subject: "workspace" },
        ...{ from: NOW - 12 * 3_600_000, elsewhere: 9n * 10n ** 15n, here: 10n ** 12n, statedAt: NOW },
      },
    });
    assert.deepEqual([shop?.budget.scope, shop?.liftedUntil], [{ project: ["shop"] }, NOW + 3_600_000]);
    cloud.script(PATH, answer());
    assert.equal(await requestFleetBudgets(machine.ports), "none");
    assert.deepEqual(names(), []);
  });

  it("leaves out budgets of a newer cloud, and keeps the others", async () => {
    const newer = stated({ name: "newer", period: "fortnight", colour: "blue" });
    cloud.script(PATH, answer(newer, stated({ subject: "planet", colour: "red" })));
    assert.equal(await requestFleetBudgets(machine.ports), "stated");
    assert.deepEqual(names(), ["workspace/all"]);
  });

  it("keeps the last statement after a failure, and drops it if the cloud has no fleet budgets any more", async () => {
    cloud.script(PATH, answer(stated()));
    await requestFleetBudgets(machine.ports);
    for (const failure of [{ status: 503 }, { status: 401 }, { status: 200, body: "nonsense" }]) {
      cloud.script(PATH, failure);
      assert.equal(await requestFleetBudgets(machine.ports), "failed");
      assert.deepEqual(names(), ["workspace/all"]);
    }
    cloud.script(PATH, { status: 404 });
    assert.equal(await requestFleetBudgets(machine.ports), "unsupported");
    assert.deepEqual(names(), []);
  });

  it("asks while a person has paused the sync, and not while the cloud refuses the key", async () => {
    cloud.otherwise(PATH, answer());
    for (const [pausedReason, result] of [
      ["paused_manual", "none"],
      ["paused_unauthorised", "held_back"],
      ["paused_forbidden", "held_back"],
    ] as const) {
      machine.store.delivery.updateState("cloud_sync_state", { paused_reason: pausedReason });
      assert.equal(await requestFleetBudgets(machine.ports), result, pausedReason);
    }
  });

  it("drops the budgets later if they can't be dropped when the machine leaves the cloud", async () => {
    cloud.script(PATH, answer(stated()));
    await requestFleetBudgets(machine.ports);
    const { store } = machine;
    const failures = [new StoreError("disk_full", "no disk space")];
    const notes = {
      ...store.notes,
      write(key: string, value: string | null) {
        for (const failure of failures.splice(0)) throw failure;
        store.notes.write(key, value);
      },
    };
    const sync = createFleetSync({ ...machine.ports, store: { ...store, notes } });
    let heard = 0;
    sync.onChange(() => {
      heard += 1;
    });
    sync.enable(false);
    assert.deepEqual([heard, names()], [0, ["workspace/all"]]);
    clock.advance(FLEET_SYNC_MS);
    assert.deepEqual([heard, names()], [1, []]);
  });

  it("asks at once and then every 30 seconds, every 5 minutes while no budget binds it, and drops the budgets when the machine leaves the cloud", async () => {
    cloud.otherwise(PATH, answer(stated()));
    let heard = 0;
    let hear = () => {};
    machine.service.onFleetBudgets(() => {
      heard += 1;
      hear();
    });
    const next = () =>
      new Promise<void>((resolve) => {
        hear = resolve;
      });
    let told = next();
    await machine.service.start();
    clock.advance(0);
    await told;
    assert.deepEqual([heard, names()], [1, ["workspace/all"]]);
    told = next();
    clock.advance(FLEET_SYNC_MS);
    await told;
    assert.equal(cloud.to(PATH).length, 2);
    cloud.script(PATH, answer());
    told = next();
    clock.advance(FLEET_SYNC_MS);
    await told;
    clock.advance(FLEET_IDLE_MS - 1);
    assert.equal(cloud.to(PATH).length, 3);
    told = next();
    clock.advance(1);
    await told;
    assert.deepEqual([cloud.to(PATH).length, names()], [4, ["workspace/all"]]);
    await machine.service.disconnect();
    assert.deepEqual([heard, names()], [5, []]);
    clock.advance(FLEET_IDLE_MS);
    assert.equal(cloud.to(PATH).length, 4);
  });
});
