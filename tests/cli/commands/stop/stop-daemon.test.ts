import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
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
      // Long enough for the command to find the lock, since both run in this process.
      await delay(1_000);
      assert.equal(isOver, false);
      lock.release();
      assert.deepEqual(await stopped, { code: 0, stdout: "Stopped.\n", stderr: "" });
      assert.equal((await runWords(home, ["stop"])).stdout, "The daemon is not running.\n");
    } finally {
      remove();
    }
  });
});
