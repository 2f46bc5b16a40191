import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { createManualClock } from "../../../adapters/clock/manual-clock.ts";
import { createFairQueue, type FairQueueOptions } from "../../../cloud/limits/fair-queue.ts";

/** A queue whose work ends when the test says so. */
function createRig(options: Partial<FairQueueOptions> = {}) {
  const clock = createManualClock(0);
  const { setTimer } = clock;
  const queue = createFairQueue({
    slots: 4,
    maxVisits: 1_000,
    maxWaitMs: 10_000,
    maxHeldBytes: 400,
    setTimer,
    ...options,
  });
  const started: string[] = [];
  const ends: { readonly tenant: string; readonly end: () => void }[] = [];
  const results: (string | null)[] = [];
  return {
    ...{ clock, queue, started, ends, results },
    /** Returns whether the visit was admitted. */
    async send(tenant: string): Promise<boolean> {
      const visit = queue.enter(tenant);
      void visit
        ?.run(
          () =>
            new Promise<string>((resolve) => {
              started.push(tenant);
              ends.push({ tenant, end: () => resolve(tenant) });
            }),
        )
        .then((result) => {
          results.push(result);
          visit.leave();
        });
      await settle();
      return visit !== null;
    },
    /** Ends the work that runs longest. */
    async endOne(): Promise<void> {
      ends.shift()?.end();
      await settle();
    },
  };
}

/** Lets promises that are resolved run their reactions. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 10; turn += 1) await Promise.resolve();
}

describe("createFairQueue()", () => {
  it("gives a tenant at most a quarter of the slots, but at least two, and the rest to other tenants", async () => {
    const { send, started } = createRig();
    for (let at = 0; at < 10; at += 1) await send("noisy");
    assert.deepEqual(started, ["noisy", "noisy"]);
    await send("good");
    assert.deepEqual(started, ["noisy", "noisy", "good"]);
  });

  it("gives free slots to the waiting tenants in turn", async () => {
    const rig = createRig({ slots: 1 });
    for (let at = 0; at < 4; at += 1) await rig.send("noisy");
    for (const tenant of ["ann", "ben"]) await rig.send(tenant);
    for (let at = 0; at < 6; at += 1) await rig.endOne();
    assert.deepEqual(rig.started, ["noisy", "noisy", "ann", "ben", "noisy", "noisy"]);
  });

  it("refuses a tenant's requests above the maximum, and work that found no slot in time", async () => {
    const rig = createRig({ slots: 1, maxVisits: 2 });
    assert.deepEqual(
      [await rig.send("ann"), await rig.send("ann"), await rig.send("ann"), await rig.send("ben")],
      [true, true, false, true],
    );
    rig.clock.advance(10_000);
    await settle();
    assert.deepEqual(rig.results, [null, null]);
    await rig.endOne();
    assert.deepEqual(rig.results, [null, null, "ann"]);
    assert.deepEqual(
      [await rig.send("ann"), await rig.send("ann"), await rig.send("ann")],
      [true, true, false],
    );
    assert.equal(rig.ends.length, 1);
  });

  it("gives a tenant at most a quarter of the memory, and takes it back at the end of the visit", () => {
    const { queue } = createRig({ maxHeldBytes: 400 });
    const enter = (tenant: string) => queue.enter(tenant) ?? assert.fail();
    const [one, other] = [enter("ann"), enter("ann")];
    assert.deepEqual([one.hold(60), other.hold(50), other.hold(40)], [true, false, true]);
    one.leave();
    assert.deepEqual([other.hold(61), other.hold(60)], [false, true]);
    const held = ["ben", "cat", "dan", "eve"].map((tenant) => enter(tenant).hold(100));
    assert.deepEqual(held, [true, true, true, false]);
    other.leave();
    assert.equal(enter("eve").hold(100), true);
  });

  it("frees the slot of work that fails", async () => {
    const { queue } = createRig({ slots: 1 });
    const visit = queue.enter("ann");
    await assert.rejects(
      async () => await visit?.run(() => Promise.reject(new RangeError("no"))),
      RangeError,
    );
    assert.equal(await visit?.run(async () => 7), 7);
  });

  it("runs each piece of work once, never more than the slots at a time, and leaves no usable slot free", async () => {
    // Planted: not taking a tenant that had its turn to the end; the order of turns failed. Planted: not starting another piece
    // of work at an end; this property failed within 10 runs.
    const action = fc.oneof(fc.constantFrom("a", "b", "c"), fc.constant(null));
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 5 }),
        fc.array(action, { maxLength: 80, size: "max" }),
        async (slots, actions) => {
          const rig = createRig({ slots });
          const share = Math.min(slots, Math.max(2, Math.floor(slots / 4)));
          let sent = 0;
          for (const tenant of actions) {
            if (tenant === null) await rig.endOne();
            else {
              await rig.send(tenant);
              sent += 1;
            }
            const running = (name: string) => rig.ends.filter((each) => each.tenant === name).length;
            assert.ok(rig.ends.length <= slots);
            for (const name of ["a", "b", "c"]) assert.ok(running(name) <= share);
          }
          while (rig.ends.length > 0) await rig.endOne();
          assert.equal(rig.results.length, sent);
          assert.ok(!rig.results.includes(null));
        },
      ),
    );
  });
});
