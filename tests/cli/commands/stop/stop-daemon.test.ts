import assert from "node:assert/strict";
import process from "node:process";
import { Writable } from "node:stream";
import { describe, it } from "node:test";
import { takeExclusiveLock } from "../../../../adapters/lock/exclusive-lock.ts";
import { createSqliteOpener } from "../../../../adapters/sqlite/open-sqlite.ts";
import { lockFile } from "../../../../cli/daemon/daemon-process.ts";
import { main } from "../../../../cli/main.ts";
import { createEmptyHome, runWords } from "../../run-command.rig.ts";

describe("meter stop", () => {
  it("waits for a daemon that has withdrawn daemon.json and still holds the home, and says so", async () => {
    const { home, remove } = createEmptyHome();
    try {
      const lock = await takeExclusiveLock(createSqliteOpener(), lockFile(home));
      assert.ok(lock);
      let notice = "";
      // The daemon ends when the command says that it waits.
      const stderr = new Writable({
        write(chunk, _encoding, done) {
          notice += String(chunk);
          lock.release();
          done();
        },
      });
      const stopped = await runWords(home, ["stop"], {}, (words, streams) =>
        main(words, streams && { ...streams, stderr }),
      );
      assert.deepEqual([stopped.code, stopped.stdout], [0, "Stopped.\n"]);
      const daemon = process.platform === "linux" ? `the daemon (process ${process.pid})` : "the daemon";
      assert.equal(notice, `meter: Waiting up to 30 s for ${daemon} to end.\n`);
      assert.equal((await runWords(home, ["stop"])).stdout, "The daemon is not running.\n");
    } finally {
      remove();
    }
  });
});
