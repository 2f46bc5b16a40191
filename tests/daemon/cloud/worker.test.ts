import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Driver } from "../../../core/ports/driver.ts";
import { createWorker } from "../../../daemon/cloud/worker.ts";

type State = { readonly events: readonly string[] };

/** A worker whose drivers are created on command and record their events. */
function createBench() {
  const made: { events: string[]; ended: Promise<void> }[] = [];
  const letMake = Promise.withResolvers<void>();
  const worker = createWorker<State, string>(async () => {
    await letMake.promise;
    const ended = Promise.withResolvers<void>();
    const own = { events: [] as string[], ended: ended.promise };
    made.push(own);
    const driver: Driver<State, string> = {
      state: own,
      run(first) {
        own.events.push(first);
        return ended.promise;
      },
      dispatch: (event) => void own.events.push(event),
      idle: async () => {},
      stop: ended.resolve,
    };
    return { driver, first: "started" };
  });
  return {
    worker,
    made,
    /** Nothing is created before. */
    make: letMake.resolve,
  };
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

describe("createWorker()", { timeout: 60_000 }, () => {
  // Planted: a task that does not wait for the driver being created started a second one on the same state, and a
  // daemon with body sync on printed its notice twice at the start.
  it("dispatches to the driver that is being created, and creates no second one", async () => {
    const { worker, made, make } = createBench();
    const run = worker.run();
    const told = worker.dispatch("resume_requested");
    const used = worker.use(async (driver) => driver.dispatch("sync_requested"));
    make();
    await Promise.all([told, used]);
    assert.deepEqual(
      made.map(({ events }) => events),
      [["started", "resume_requested", "sync_requested"]],
    );
    worker.stop();
    await run;
  });

  it("creates a driver for a task if none runs, and ends it", async () => {
    const { worker, made, make } = createBench();
    const told = worker.dispatch("pause_requested");
    make();
    await told;
    assert.deepEqual([made.length, made[0]?.events], [1, ["started", "pause_requested"]]);
    assert.equal(await made[0]?.ended, undefined);
  });

  it("runs tasks without a running driver one after another, and then a run", async () => {
    const { worker, made, make } = createBench();
    make();
    const log: string[] = [];
    const task = (name: string) =>
      worker.use(async () => {
        log.push(`${name} begins`);
        await turn();
        log.push(`${name} ends`);
      });
    const tasks = [task("one"), task("other")];
    const run = worker.run();
    await Promise.all(tasks);
    await turn();
    assert.deepEqual(log, ["one begins", "one ends", "other begins", "other ends"]);
    assert.equal(made.length, 3);
    worker.stop();
    await run;
  });

  it("ends a task's driver when stopped, and does not start a run that waited for it", async () => {
    const { worker, made, make } = createBench();
    make();
    const task = worker.use((_, ended) => ended);
    const run = worker.run();
    await turn();
    worker.stop();
    await Promise.all([task, run]);
    assert.equal(made.length, 1);
  });

  it("rejects if the driver could not be created, and creates another the next time", async () => {
    let problem: Error | null = new Error("the configuration can't be read");
    const inner = createBench();
    const worker = createWorker<State, string>(async () => {
      if (problem !== null) throw problem;
      return await inner.worker.use(async (driver) => ({ driver, first: "started" }));
    });
    const run = worker.run();
    const told = worker.dispatch("resume_requested");
    await assert.rejects(run, /can't be read/);
    await assert.rejects(told, /can't be read/);
    problem = null;
    const again = worker.dispatch("resume_requested");
    inner.make();
    await again;
    assert.deepEqual(inner.made[0]?.events, ["started", "started", "resume_requested"]);
  });

  it("ends a driver that was stopped while it was being created", async () => {
    const { worker, make } = createBench();
    const run = worker.run();
    worker.stop();
    make();
    await run;
  });
});
