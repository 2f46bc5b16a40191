/**
 * 500 and 1,000 connections at once on a machine with 300 other processes, five of them with 1,000 files open: the
 * daemon keeps responding, every call has a row, and every row has its caller. The checks do the same with 60
 * (`tests/end-to-end/many-connections.test.ts`).
 */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { describe, it } from "node:test";
import { callAtOnce, startIdleProcesses } from "../end-to-end/call-storm.rig.ts";
import {
  createHome,
  removeHome,
  simulationConfig,
  startMeter,
  waitFor,
} from "../end-to-end/meter-process.rig.ts";
import { createParentProxy, createProviderSimulation } from "../simulation/mod.ts";

describe("many connections at once", {
  timeout: 600_000,
  skip: process.platform === "linux" ? false : "looks processes up in Linux's /proc",
}, () => {
  for (const count of [500, 1_000]) {
    it(`${count}: the daemon responds, and every call has a row with its caller`, async (test) => {
      const endIdle = [startIdleProcesses(300, 0), startIdleProcesses(5, 1_000)];
      const simulation = await createProviderSimulation({ seed: "storm" });
      const parent = await createParentProxy(simulation);
      const meter = await startMeter(createHome(simulationConfig(parent, simulation)));
      const folder = mkdtempSync(join(tmpdir(), "storm-"));
      try {
        const { answered, failed, worstHealthMs } = await callAtOnce(meter, count, folder);
        await waitFor("all rows", async () => (await meter.rows()).length >= answered).catch(() => {});
        const rows = await waitFor("all callers", async () => {
          const all = await meter.rows();
          return all.every(({ attributionDueAt }) => attributionDueAt === undefined) && all;
        });
        const withoutCaller = rows.filter(({ client }) => client === null).length;
        const lost = answered - rows.length;
        test.diagnostic(JSON.stringify({ count, answered, failed, lost, withoutCaller, worstHealthMs }));
        assert.deepEqual([lost > 0, withoutCaller], [false, 0]);
        assert.ok(worstHealthMs < 2_000, `/health took ${worstHealthMs} ms`);
      } finally {
        for (const end of endIdle) end();
        await meter.stop();
        await parent.close();
        await simulation.close();
        removeHome(meter.home);
        rmSync(folder, { recursive: true, force: true });
      }
    });
  }
});
