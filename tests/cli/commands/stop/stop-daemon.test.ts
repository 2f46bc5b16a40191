import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { takeExclusiveLock } from "../../../../adapters/lock/exclusive-lock.ts";
import { createSqliteOpener } from "../../../../adapters/sqlite/open-sqlite.ts";
import { lockFile } from "../../../../cli/daemon/daemon-process.ts";
import { createEmptyHome, runWords } from "../../run-command.rig.ts";

describe("meter stop", () => {
  it("waits for a daemon that another command is stopping: it has withdrawn daemon.json and still holds the home", async () => {
    const { home, remove } = createEmptyHome();
    try {
      const lock = await takeExclusiveLock(createSqliteOpener(), lockFile(home));
      assert.ok(lock);
      let isOver = false;
      const stopped = runWords(home, ["stop"]).finally(() => {
        isOver = true;
      });
      // The command has probed the lock several times when these turns are over, or is waiting to.
      for (let turn = 0; turn < 100; turn += 1) await new Promise(setImmediate);
      assert.equal(isOver, false);
      lock.release();
      assert.deepEqual(await stopped, { code: 0, stdout: "Stopped.\n", stderr: "" });
      assert.equal((await runWords(home, ["stop"])).stdout, "The daemon is not running.\n");
    } finally {
      remove();
    }
  });
});
