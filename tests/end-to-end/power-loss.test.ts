import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LOG_SYNC_DELAY_MS } from "../../daemon/store/log-sync.ts";
import { runDatabasePowerLoss } from "../chaos/power/database-power-loss.ts";
import { runPostgresPowerLoss } from "../chaos/power/postgres-power-loss.ts";
import { allowedMs, recordingObstacle, runPowerLoss } from "../chaos/power/power-loss.ts";
import { missingPostgres } from "../cloud/kit/postgres-server.ts";
import { propertyRuns } from "../core/property-runs.rig.ts";
import { onNodeOnly, SUITE_TIMEOUT_MS } from "./meter-process.rig.ts";

describe("a power cut", { skip: onNodeOnly, timeout: 2 * SUITE_TIMEOUT_MS }, () => {
  it("leaves a database that opens, each sent record in the outbox, and all but the calls of the last moment", async (test) => {
    const obstacle = recordingObstacle() ?? missingPostgres();
    if (obstacle !== null) return test.skip(`NOT TESTED: ${obstacle}`);
    const result = await runPowerLoss({ cuts: propertyRuns(10), calls: 80, seed: "tests" }, () => {});
    assert.ok(result.longestUnsyncedMs <= allowedMs(result), JSON.stringify(result));
    assert.ok(result.oldestLostMs <= result.longestUnsyncedMs, JSON.stringify(result));
    assert.ok(result.sentRows > 0);
  });

  // Planted: a sync that a timer starts a second after the commit; the row of a call then waits for another pause.
  it("costs a daemon without processor time only the calls that it had not read, and those of the last moment", async (test) => {
    const obstacle = recordingObstacle() ?? missingPostgres();
    if (obstacle !== null) return test.skip(`NOT TESTED: ${obstacle}`);
    const result = await runPowerLoss({ cuts: 4, calls: 90, pauseMs: 3_000, seed: "pauses" }, () => {});
    assert.ok(result.lateSyncMs !== null && result.lateSyncMs < LOG_SYNC_DELAY_MS, JSON.stringify(result));
    assert.ok(result.longestUnsyncedMs <= allowedMs(result), JSON.stringify(result));
    assert.ok(result.oldestLostMs <= result.longestUnsyncedMs, JSON.stringify(result));
  });

  it("leaves what the cloud confirmed on its embedded database, and the rest is counted once when it is sent again", async (test) => {
    const obstacle = recordingObstacle();
    if (obstacle !== null) return test.skip(`NOT TESTED: ${obstacle}`);
    const { batches, syncs, kept, sentAgain } = await runDatabasePowerLoss({
      cuts: 3,
      batches: 15,
      seed: "tests",
    });
    assert.ok(syncs >= batches, `${syncs} syncs`);
    assert.ok(kept > 0 && sentAgain > 0, `${kept} kept, ${sentAgain} sent again`);
  });

  it("leaves what the cloud confirmed on PostgreSQL, and the rest is counted once when it is sent again", async (test) => {
    const obstacle = recordingObstacle() ?? missingPostgres();
    if (obstacle !== null) return test.skip(`NOT TESTED: ${obstacle}`);
    const { confirmed, kept, sentAgain } = await runPostgresPowerLoss(
      { cuts: 3, rounds: 2, seed: "tests" },
      () => {},
    );
    assert.deepEqual(confirmed, { batch: 6, body: 6, prompt_view: 6, consent: 6 });
    assert.ok(kept > 0 && sentAgain > 0, `${kept} kept, ${sentAgain} sent again`);
  });
});
