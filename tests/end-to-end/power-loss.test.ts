import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { runDatabasePowerLoss } from "../chaos/power/database-power-loss.ts";
import { LOST_MS, recordingObstacle, runPowerLoss } from "../chaos/power/power-loss.ts";
import { missingPostgres } from "../cloud/kit/postgres-server.ts";
import { onNodeOnly, SUITE_TIMEOUT_MS } from "./meter-process.rig.ts";

describe("a power cut", { skip: onNodeOnly, timeout: 2 * SUITE_TIMEOUT_MS }, () => {
  it("leaves a database that opens, each sent record in the outbox, and all but the calls of the last moment", async (test) => {
    const obstacle = recordingObstacle() ?? missingPostgres();
    if (obstacle !== null) return test.skip(`NOT TESTED: ${obstacle}`);
    const result = await runPowerLoss({ cuts: 25, calls: 80, seed: "tests" }, () => {});
    assert.ok(result.oldestLostMs <= LOST_MS, `a call answered ${result.oldestLostMs} ms before was lost`);
    assert.ok(result.sentRows > 0);
  });

  it("keeps each confirmed commit of the cloud's embedded database, once", async (test) => {
    const obstacle = recordingObstacle();
    if (obstacle !== null) return test.skip(`NOT TESTED: ${obstacle}`);
    const { commits, syncs } = await runDatabasePowerLoss({ cuts: 4, commits: 15, seed: "tests" });
    assert.equal(commits, 15);
    assert.ok(syncs >= commits, `${syncs} syncs`);
  });
});
