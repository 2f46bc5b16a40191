import assert from "node:assert/strict";
import type { ServerResponse } from "node:http";
import { describe, it } from "node:test";
import { createManualClock } from "../../../adapters/clock/manual-clock.ts";
import { COVERAGE_SYNC_MS } from "../../../daemon/cloud/coverage-sync.ts";
import { createMachine, startScriptedCloud, until } from "./cloud.rig.ts";

describe("the stop of the cloud service", () => {
  const PATHS = ["limits", "coverage", "budgets", "ledger-heads"].map((name) => `/v1/daemon/${name}`);

  it("cancels the requests in flight, logs no crash, and a restart sends again", async () => {
    const now = Date.UTC(2026, 10, 21, 12);
    const clock = createManualClock(now);
    const cloud = await startScriptedCloud();
    const machine = await createMachine(cloud.url, {
      clock,
      config: { cloud: { upload: { preset: "full" } } },
    });
    let closed = 0;
    const hold = (_: unknown, response: ServerResponse) =>
      void response.on("close", () => {
        closed += 1;
      });
    for (const path of PATHS) cloud.otherwise(path, hold);
    const limit = {
      ...{ provider: "anthropic", account: "a1", window: "5h", scope: null, unit: "share" as const },
      ...{ windowMs: null, usedPpm: 1, limit: null, remaining: null, resetAt: null },
      ...{ status: "allowed" as const, seenAt: now },
    };
    machine.store.limits.save([{ isPoint: false, reading: limit }]);
    machine.store.coverage.saveRun({ from: now - 3_600_000, to: now });
    const allSent = (count: number) =>
      until("every request", () => {
        clock.advance(COVERAGE_SYNC_MS);
        return PATHS.every((path) => cloud.to(path).length >= count);
      });
    try {
      for (const round of [1, 2]) {
        await machine.service.start();
        await allSent(round);
        assert.equal(closed, (round - 1) * PATHS.length);
        await machine.service.stop();
        await until("the ends of the requests", () => closed === round * PATHS.length);
      }
    } finally {
      await machine.close();
      await cloud.close();
    }
    assert.deepEqual(
      machine.logged.filter(({ event }) => event === "daemon.task_crashed"),
      [],
    );
  });
});
