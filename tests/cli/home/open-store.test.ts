import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createSqliteOpener } from "../../../adapters/sqlite/open-sqlite.ts";
import { databaseFile } from "../../../cli/home/database-file.ts";
import { withStore } from "../../../cli/home/open-store.ts";
import { createSampleHome } from "../run-command.rig.ts";

describe("withStore()", () => {
  it("reports that another process locks the database, and still reads it", async () => {
    const { home, remove } = await createSampleHome();
    const other = await createSqliteOpener().open(databaseFile(home));
    try {
      other.execute("BEGIN IMMEDIATE");
      await assert.rejects(
        withStore(home, { readOnly: false, busyTimeoutMs: 1 }, async (store) =>
          store.settings.setBodyCapture("web", true, 0),
        ),
        { name: "CommandFailure", message: /meter\.db is locked by another process\. Try again/ },
      );
      const total = { from: null, to: null };
      assert.equal(await withStore(home, { readOnly: true }, async (store) => store.records.count(total)), 0);
    } finally {
      other.close();
      remove();
    }
  });
});
