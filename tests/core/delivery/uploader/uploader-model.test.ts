import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { createManualClock } from "../../../../adapters/clock/manual-clock.ts";
import { inBackground } from "../../../../adapters/driver/create-driver.ts";
import { createMemoryBodyStore } from "../../../../adapters/memory/body-store.ts";
import { createMemoryStateStore } from "../../../../adapters/memory/state-store.ts";
import { fitBody } from "../../../../core/delivery/uploader/upload-cap.ts";
import type { BodyResult } from "../../../../core/delivery/uploader/upload-outcome.ts";
import type { UploaderEffect, UploaderEvent } from "../../../../core/delivery/uploader/uploader-events.ts";
import { uploaderTransition } from "../../../../core/delivery/uploader/uploader-machine.ts";
import {
  initialUploaderState,
  type UploaderState,
} from "../../../../core/delivery/uploader/uploader-state.ts";
import type { Handlers } from "../../../../core/ports/driver.ts";
import { command, createRig, pass } from "../../crashing.rig.ts";
import { DAY } from "../../machine.rig.ts";
import {
  answered,
  counted,
  found,
  http,
  noAnswer,
  notStored,
  workspace,
  workspaceFailed,
} from "./uploader.rig.ts";

/**
 * `orphan` gets a 404, `unsynced` a 425 until the cloud heals, `held` belongs to a project that is not uploaded, `large`
 * exceeds the cap.
 */
type Fate = "good" | "large" | "orphan" | "unsynced" | "held" | "broken";
type CloudCondition = "well" | "lost" | "gate_off" | 401 | 403 | 429 | 503;
type World = ReturnType<typeof createWorld>;

const CAP = 5;

function createWorld() {
  const clock = createManualClock(DAY);
  const store = createMemoryBodyStore();
  const bodies = new Map<string, string>();
  const facts = {
    condition: "well" as CloudCondition,
    healed: false,
    gateWasOff: false,
    enabled: true,
    watermark: null as number | null,
  };
  let sentWhilePaused = 0;

  function post(id: string, text: string): BodyResult {
    const { condition } = facts;
    if (typeof condition === "number") return http(condition, condition === 429 ? 5_000 : null);
    if (condition === "gate_off") return notStored;
    if (id.startsWith("orphan")) return http(404);
    if (id.startsWith("unsynced") && !facts.healed) return http(425);
    // One body for which the cloud always fails must not delay the others.
    if (id.startsWith("broken") && !facts.healed) return http(500);
    bodies.set(id, text);
    return condition === "lost" ? noAnswer : http(204);
  }
  const handlers: Handlers<UploaderEvent, UploaderEffect> = {
    select_bodies: async ({ after, limit }) =>
      found(await store.selectPending(after, limit), {
        perProject: { held: false },
        uploadFrom: facts.watermark,
        maxBodyBytes: CAP,
      }),
    request_workspace({ sendNumber }) {
      if (rig.state.status !== "active") sentWhilePaused++;
      const { condition } = facts;
      const result =
        typeof condition === "number"
          ? workspaceFailed(sendNumber, http(condition))
          : workspace(sendNumber, condition !== "gate_off");
      const asked = condition;
      return inBackground(
        new Promise((resolve) =>
          clock.setTimer(200, () => {
            facts.gateWasOff = asked === "gate_off";
            resolve(result);
          }),
        ),
      );
    },
    count_waiting: async () => counted((await store.selectPending(null, 1_000)).length),
    send_body({ sendNumber, requestId, direction, maxBytes }) {
      if (rig.state.status !== "active" || facts.gateWasOff) sentWhilePaused++;
      const body = store.read(requestId, direction);
      assert.ok(body);
      const fitted = fitBody(
        { utf8: body.utf8, truncated: false, originalSizeBytes: body.utf8.length },
        maxBytes,
      );
      assert.equal(fitted.originalSizeBytes, body.utf8.length);
      const result = post(requestId, new TextDecoder("utf-8", { fatal: true }).decode(fitted.utf8));
      return inBackground(
        new Promise((resolve) => clock.setTimer(200, () => resolve(answered(sendNumber, result)))),
      );
    },
    async mark_uploaded({ requestId, direction, at }) {
      await store.markUploaded(requestId, direction, at);
      return undefined;
    },
    async quarantine_body({ requestId, direction, reason, at }) {
      await store.quarantine(requestId, direction, reason, at);
      return undefined;
    },
    stamp_upload_from({ at }) {
      facts.watermark = at;
      return { kind: "upload_from_stamped", uploadFrom: at, isAnnounced: false };
    },
    print_notice: () => undefined,
    log: () => undefined,
  };
  const rig = createRig<UploaderState, UploaderEvent, UploaderEffect>(
    {
      transition: uploaderTransition,
      initial: initialUploaderState,
      store: createMemoryStateStore(),
      clock,
      timers: { tick: { kind: "tick_due" } },
      handlers,
    },
    () => ({ kind: "started", enabled: facts.enabled, random: 0.5 }),
  );
  const ids: string[] = [];
  return {
    clock,
    store,
    facts,
    rig,
    add(fate: Fate) {
      const requestId = `${fate}${ids.length}`;
      ids.push(requestId);
      const utf8 = new TextEncoder().encode(fate === "large" ? "€€€" : "ok");
      const project = fate === "held" ? "held" : "p";
      store.add({ requestId, direction: "request", project, capturedAt: clock.now(), utf8 });
    },
    check() {
      for (const key of store.uploadedAt.keys()) {
        const id = key.split(" ")[0] as string;
        assert.equal(bodies.get(id), id.startsWith("large") ? "€" : "ok", `${id} is marked without a body`);
      }
      for (const key of store.quarantined.keys()) assert.match(key, /^orphan/);
      for (const id of bodies.keys()) assert.doesNotMatch(id, /^held/);
      assert.equal(sentWhilePaused, 0);
    },
    checkSettled() {
      for (const id of ids) {
        const body = store.read(id, "request");
        const early = Number(body?.capturedAt) < Number(facts.watermark);
        if (id.startsWith("held") || early) continue;
        const settled = id.startsWith("orphan") ? store.quarantined : store.uploadedAt;
        assert.ok(settled.has(`${id} request`), `${id}: ${JSON.stringify(rig.state)}`);
      }
    },
  };
}

const act = command<World>;
const dispatch = (event: UploaderEvent) => act(event.kind, (world) => world.rig.dispatch(event));
const commands = [
  fc
    .constantFrom<Fate>("good", "good", "large", "orphan", "unsynced", "held", "broken")
    .map((fate) => act(`add ${fate}`, (world) => world.add(fate))),
  fc
    .constantFrom<CloudCondition>("well", "well", "lost", "gate_off", "gate_off", 401, 403, 429, 503)
    .map((condition) =>
      act(`cloud ${condition}`, (world) => {
        world.facts.condition = condition;
      }),
    ),
  fc.constantFrom(100, 1_000, 61_000, 400_000).map((ms) => act(`pass ${ms}`, (world) => pass(world, ms))),
  fc.nat(12).map((operations) => act(`crash ${operations}`, (world) => world.rig.crashAfter(operations))),
  fc.boolean().map((enabled) =>
    act(`enabled ${enabled}`, (world) => {
      world.facts.enabled = enabled;
      world.rig.dispatch({ kind: "body_sync_switched", enabled });
    }),
  ),
  fc.constant(dispatch({ kind: "pause_requested" })),
  fc.constant(dispatch({ kind: "resume_requested" })),
  fc.constant(dispatch({ kind: "credentials_confirmed" })),
];

describe("core/delivery/uploader in its real driver", () => {
  // Planted: `started` keeps the run it finds. Planted: the cursor does not pass a body that failed.
  // Planted: a policy rejection marks the body. Planted: no stamp is owed (`stampDueAt: null` when switched on).
  it("loses nothing and settles everything through any crashes, pauses, switches and faults", async () => {
    await fc.assert(
      fc.asyncProperty(fc.commands(commands, { maxCommands: 40, size: "max" }), async (list) => {
        const world = createWorld();
        await fc.asyncModelRun(() => ({ model: {}, real: world }), list);
        // Before the cloud recovers completely, it fails for some bodies only: the others must get through.
        world.rig.crashAfter(Number.POSITIVE_INFINITY);
        world.facts.condition = "well";
        world.facts.enabled = true;
        world.rig.dispatch({ kind: "body_sync_switched", enabled: true });
        // Requests in flight are answered first: they may pause the machine.
        await pass(world, 1_000);
        // Confirming would also end a pass that hangs, so it comes only when it is needed.
        const { status } = world.rig.state;
        if (status !== "active") world.rig.dispatch({ kind: "credentials_confirmed" });
        world.add("broken");
        world.add("good");
        await pass(world, 3_600_000);
        assert.ok([...world.store.uploadedAt.keys()].some((key) => key.startsWith("good")));
        world.facts.healed = true;
        await pass(world, 3_600_000);
        world.check();
        world.checkSettled();
        await world.rig.stop();
      }),
      { numRuns: 100 },
    );
  });
});
