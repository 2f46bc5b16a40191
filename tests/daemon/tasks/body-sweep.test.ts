import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createManualClock } from "../../../adapters/clock/manual-clock.ts";
import { createLog } from "../../../adapters/log/create-log.ts";
import type { CapturedBody } from "../../../daemon/store/port/bodies.ts";
import type { Store } from "../../../daemon/store/port/store.ts";
import { startBodySweep } from "../../../daemon/tasks/body-sweep.ts";
import { withStore } from "../store/open-sample-store.rig.ts";

const day = 86_400_000;
const start = Date.UTC(2026, 10, 21, 9);

const body = (requestId: string, capturedAt: number): CapturedBody => ({
  requestId,
  direction: "request",
  capturedAt,
  contentType: null,
  content: new Uint8Array(3),
  originalSizeBytes: 3,
  truncated: false,
  redactionApplied: false,
  redactionSummary: [],
});

async function settle(): Promise<void> {
  for (let turn = 0; turn < 50; turn += 1) await Promise.resolve();
}

function startSweep(store: Store) {
  const clock = createManualClock(start);
  const lines: string[] = [];
  const sweep = startBodySweep({
    store,
    clock,
    log: createLog({ write: (line) => lines.push(line) }, "info", () => 0),
    retentionDays: 90,
    monotonicMs: () => 0,
    atTurnEnd: (work) => work(),
  });
  const pass = async (ms: number) => {
    clock.advance(ms);
    await settle();
  };
  return { sweep, clock, pass, events: () => lines.map((line) => JSON.parse(line)) };
}

describe("startBodySweep()", () => {
  it("deletes bodies past their retention, a minute after the start and daily", () =>
    withStore(async (store) => {
      store.bodies.insert([
        body("old", start - 90 * day - 1),
        body("tomorrow", start - 90 * day + day),
        body("new", start),
        body("newer", start),
      ]);
      const { sweep, pass, events } = startSweep(store);
      await pass(59_000);
      assert.equal(store.bodies.stats().bodies, 4);
      await pass(1_000);
      assert.deepEqual(
        ["old", "tomorrow", "new"].map((id) => store.bodies.read(id).length),
        [0, 1, 1],
      );
      await pass(day);
      assert.equal(store.bodies.read("tomorrow").length, 0);
      assert.deepEqual(
        events().map(({ event, deleted, retention_days, elapsed_ms }) => [
          event,
          deleted,
          retention_days,
          elapsed_ms,
        ]),
        [
          ["bodies.retention_sweep", 1, 90, 0],
          ["bodies.retention_sweep", 1, 90, 0],
        ],
      );
      sweep.stop();
      await pass(5 * day);
      assert.equal(events().length, 2);
    }));

  it("keeps everything and warns if the clock jumped ahead; continues once it is right", () =>
    withStore(async (store) => {
      store.bodies.insert([body("one", start - day), body("two", start)]);
      const { sweep, clock, pass, events } = startSweep(store);
      await pass(60_000);
      clock.jump(start + 1_000 * day);
      await pass(day);
      assert.equal(sweep.held, 2);
      assert.equal(store.bodies.stats().bodies, 2);
      assert.match(events().at(-1).warning, /^2 of 2 captured bodies/);
      clock.jump(start + 2 * day);
      await pass(day);
      assert.equal(sweep.held, null);
      assert.equal(store.bodies.stats().bodies, 2);
      sweep.stop();
    }));

  it("continues after a sweep that failed", () =>
    withStore(async (store) => {
      let failing = true;
      const { sweep, pass, events } = startSweep({
        ...store,
        bodies: {
          ...store.bodies,
          countBefore(before) {
            if (failing) throw new Error("disk");
            return store.bodies.countBefore(before);
          },
        },
      });
      await pass(60_000);
      failing = false;
      await pass(day);
      assert.deepEqual(
        events().map(({ event, task }) => [event, task]),
        [
          ["daemon.task_crashed", "retention_sweep"],
          ["bodies.retention_sweep", undefined],
        ],
      );
      sweep.stop();
    }));
});
