import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { createManualClock } from "../../../../adapters/clock/manual-clock.ts";
import { inBackground } from "../../../../adapters/driver/create-driver.ts";
import { createMemoryStateStore } from "../../../../adapters/memory/state-store.ts";
import { createMemorySyncStore } from "../../../../adapters/memory/sync-store.ts";
import type { BatchResult, SyncEffect, SyncEvent } from "../../../../core/delivery/sync/sync-events.ts";
import { syncTransition } from "../../../../core/delivery/sync/sync-machine.ts";
import { initialSyncState, type SyncState } from "../../../../core/delivery/sync/sync-state.ts";
import type { Handlers } from "../../../../core/ports/driver.ts";
import { command, createRig, pass } from "../../crashing.rig.ts";
import { DAY } from "../../machine.rig.ts";
import { answered, found, http, noAnswer, ok, whoami } from "./sync.rig.ts";

/** The cloud accepts `good`, rejects `named` by name in a 200, and answers 422 to a batch with `poison`. */
type Fate = "good" | "named" | "poison";
type CloudCondition = "well" | "lost" | 401 | 403 | 413 | 429 | 422 | 500 | 503;

/** A cloud that keeps what it commits, responds after 200 ms, and may lose the response after the commit. */
function createCloud(fateOf: (id: string) => Fate) {
  const rows = new Set<string>();
  const cloud = { condition: "well" as CloudCondition, rows, post };
  function post(ids: readonly string[]): BatchResult {
    const { condition } = cloud;
    if (typeof condition === "number") return http(condition, condition === 429 ? 5_000 : null);
    if (ids.some((id) => fateOf(id) === "poison")) return http(422);
    const good = ids.filter((id) => fateOf(id) === "good");
    const accepted = good.filter((id) => !rows.has(id)).length;
    for (const id of good) rows.add(id);
    if (condition === "lost") return noAnswer;
    return ok(
      accepted,
      good.length - accepted,
      ids.filter((id) => fateOf(id) === "named"),
    );
  }
  return cloud;
}

type World = ReturnType<typeof createWorld>;

function createWorld() {
  const clock = createManualClock(DAY);
  const store = createMemorySyncStore<Fate>();
  const cloud = createCloud((id) => store.read(id) ?? "good");
  let added = 0;
  let sentWhilePaused = 0;
  const later = <T>(value: T) =>
    inBackground(new Promise<T>((resolve) => clock.setTimer(200, () => resolve(value))));
  const handlers: Handlers<SyncEvent, SyncEffect> = {
    select_records: async ({ limit, from }) => {
      const pending = await store.selectPending(Number.POSITIVE_INFINITY);
      return found(...(from === "oldest" ? pending.slice(0, limit) : pending.slice(-limit)));
    },
    send_batch({ batchNumber, requestIds }) {
      if (rig.state.status !== "active") sentWhilePaused++;
      return later(answered(batchNumber, cloud.post(requestIds)));
    },
    async mark_synced({ requestIds, at }) {
      await store.markSynced(requestIds, at);
      return undefined;
    },
    async quarantine_records({ records, at }) {
      await store.quarantine(records, at);
      return undefined;
    },
    request_whoami: () => later(whoami(typeof cloud.condition === "number" ? cloud.condition : 200)),
    pause_uploader: () => undefined,
    resume_uploader: () => undefined,
    clear_uploader_state: () => ({ kind: "uploader_cleared" }),
    report_resume: () => undefined,
    report_sync: () => undefined,
    log: () => undefined,
  };
  const rig = createRig<SyncState, SyncEvent, SyncEffect>(
    {
      transition: syncTransition,
      initial: initialSyncState,
      store: createMemoryStateStore(),
      clock,
      timers: { tick: { kind: "tick_due" } },
      handlers,
    },
    () => ({ kind: "started", random: 0.5 }),
  );
  return {
    clock,
    store,
    cloud,
    rig,
    add: (fate: Fate) => store.add(`r${added++}`, fate),
    check() {
      const { syncedAt, quarantined } = store;
      for (const id of syncedAt.keys()) assert.ok(cloud.rows.has(id), `${id} is marked without a row`);
      for (const id of quarantined.keys()) assert.notEqual(store.read(id), "good", `${id} is in quarantine`);
      assert.equal(sentWhilePaused, 0);
    },
    checkSettled() {
      for (let at = 0; at < added; at++) {
        const id = `r${at}`;
        const settled = store.read(id) === "good" ? store.syncedAt : store.quarantined;
        assert.ok(settled.has(id), `${id} ${store.read(id)}: ${JSON.stringify(rig.state)}`);
      }
    },
  };
}

const act = command<World>;
const dispatch = (event: SyncEvent) => act(event.kind, (world) => world.rig.dispatch(event));
const commands = [
  fc
    .constantFrom<Fate>("good", "good", "good", "named", "poison")
    .map((fate) => act(`add ${fate}`, (world) => world.add(fate))),
  fc
    .constantFrom<CloudCondition>("well", "well", "lost", 401, 403, 413, 422, 429, 500, 503)
    .map((condition) =>
      act(`cloud ${condition}`, (world) => {
        world.cloud.condition = condition;
      }),
    ),
  fc.constantFrom(100, 1_000, 31_000, 400_000).map((ms) => act(`pass ${ms}`, (world) => pass(world, ms))),
  fc.nat(12).map((operations) => act(`crash ${operations}`, (world) => world.rig.crashAfter(operations))),
  fc
    .constantFrom(-86_400_000, 86_400_000)
    .map((ms) => act(`clock ${ms}`, (world) => world.clock.jump(world.clock.now() + ms))),
  fc.constant(dispatch({ kind: "sync_requested" })),
  fc.constant(dispatch({ kind: "pause_requested" })),
  fc.constant(dispatch({ kind: "resume_requested" })),
  fc.constant(dispatch({ kind: "credentials_replaced" })),
];

describe("core/delivery/sync in its real driver", () => {
  // Planted: `started` keeps the run that it finds (hangs forever after a crash). Planted: marks before sending.
  // Planted: the driver handles effects before it saves. Planted: quarantine without another record taken.
  it("loses nothing, duplicates nothing and settles everything through any crashes, pauses and faults", async () => {
    await fc.assert(
      fc.asyncProperty(fc.commands(commands, { maxCommands: 40, size: "max" }), async (list) => {
        const world = createWorld();
        await fc.asyncModelRun(() => ({ model: {}, real: world }), list);
        // The cloud has recovered, one good record arrives, and the operator resumes.
        world.cloud.condition = "well";
        world.add("good");
        for (let round = 0; round < 40 && (await world.store.selectPending(1)).length > 0; round++) {
          world.rig.dispatch({ kind: "resume_requested" });
          await pass(world, 3_600_000);
        }
        world.check();
        world.checkSettled();
        await world.rig.stop();
      }),
      { numRuns: 60 },
    );
  });
});
