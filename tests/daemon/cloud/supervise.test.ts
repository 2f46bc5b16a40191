import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createManualClock } from "../../../adapters/clock/manual-clock.ts";
import { createDriver } from "../../../adapters/driver/create-driver.ts";
import type { Log } from "../../../core/ports/log.ts";
import { createSupervisor } from "../../../daemon/cloud/supervise.ts";
import { createMachine, startScriptedCloud, until } from "./cloud.rig.ts";

function supervised(run: (n: number) => Promise<void>) {
  const clock = createManualClock(0);
  const logged: { event: string; fields: Readonly<Record<string, unknown>> }[] = [];
  const write = (event: string, fields: object) => void logged.push({ event, fields: { ...fields } });
  const log: Log = { debug: write, info: write, warn: write, error: write };
  let runs = 0;
  let stop = () => {};
  const supervisor = createSupervisor(
    { clock, log, createDriver },
    {
      name: "sync",
      run: () => {
        runs += 1;
        return run(runs);
      },
      stop: () => stop(),
    },
  );
  return { clock, logged, supervisor, runs: () => runs, onStop: (work: () => void) => (stop = work) };
}

describe("createSupervisor()", () => {
  it("restarts a crashed worker after growing delays, degrades after eight restarts, then retries every 300 s", async () => {
    const one = supervised(() => Promise.reject(new TypeError("no such table")));
    one.supervisor.enable(true);
    for (let end = 1; end <= 9; end += 1) {
      await until(`end ${end}`, () => exits().length === end);
      one.clock.advance(Math.min(60_000, 1_000 * 2 ** (end - 1)));
    }
    assert.equal(one.supervisor.status, "degraded");
    assert.deepEqual(
      exits().map(({ fields }) => fields.restart_in_ms),
      [1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000, 300_000],
    );
    const { task, cause, error, message } = exits()[0]?.fields ?? {};
    assert.deepEqual([task, cause, error, message], ["sync", "error", "TypeError", "no such table"]);
    one.clock.advance(300_000);
    await until("the tenth end", () => exits().length === 10);
    one.supervisor.resume();
    await until("the eleventh end", () => exits().length === 11);
    await one.supervisor.stop();

    function exits() {
      return one.logged.filter(({ event }) => event === "cloud.supervisor.worker_exited");
    }
  });

  it("does not count a worker that was stopped, and logs why it starts none", async () => {
    const one = supervised(() => new Promise<void>((resolve) => one.onStop(resolve)));
    one.supervisor.enable(false);
    await until("the skip", () => one.logged.some(({ event }) => event === "cloud.supervisor.skip"));
    one.supervisor.enable(true);
    await until("the start", () => one.runs() === 1);
    assert.equal(one.supervisor.status, "running");
    await one.supervisor.stop();
    assert.equal(one.supervisor.status, "stopped");
    assert.equal(
      one.logged.some(({ event }) => event === "cloud.supervisor.worker_exited"),
      false,
    );
  });
});

describe("the cloud service, stopped while it reads its configuration", () => {
  for (const [what, readings] of [
    ["at the start", 0],
    ["for the pull of rates", 1],
  ] as const) {
    it(`${what}: sends nothing and leaves no timer`, async () => {
      const cloud = await startScriptedCloud();
      const clock = createManualClock(Date.UTC(2026, 10, 21));
      const machine = await createMachine(cloud.url, { clock, config: { pricing: { auto_pull: true } } });
      try {
        const { settings } = machine.ports;
        const isRead = Promise.withResolvers<void>();
        let asked = 0;
        Object.assign(machine.ports, {
          settings: async () => {
            asked += 1;
            if (asked > readings) await isRead.promise;
            return await settings();
          },
        });
        const started = machine.service.start();
        await until("the configuration to be asked for", () => asked > readings);
        const stopped = machine.service.stop();
        isRead.resolve();
        await Promise.all([started, stopped]);
        await until("the end of all", () => clock.nextTimerMs() === null);
        const wasSpawned = machine.logged.some(({ event }) => event === "cloud.supervisor.spawned");
        assert.deepEqual([cloud.seen, wasSpawned], [[], readings > 0]);
      } finally {
        await machine.close();
        await cloud.close();
      }
    });
  }
});
