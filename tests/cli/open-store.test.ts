import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createSqliteOpener } from "../../adapters/sqlite/mod.ts";
import { databaseFile } from "../../cli/database-file.ts";
import { withStore } from "../../cli/open-store.ts";
import { createSampleHome } from "./run-words.ts";

describe("withStore()", () => {
  it("says that somebody else keeps the database locked, and reads all the same", async () => {
    const { home, remove } = await createSampleHome();
    const other = await createSqliteOpener().open(databaseFile(home));
    try {
      other.execute("BEGIN IMMEDIATE");
      await assert.rejects(
        withStore(home, { readOnly: false, busyTimeoutMs: 1 }, async (store) =>
          store.setBodyCapture("web", true, 0),
        ),
        { name: "CommandFailure", message: /meter\.db: another process keeps it locked; try again/ },
      );
      const total = { from: null, to: null };
      assert.equal(await withStore(home, { readOnly: true }, async (store) => store.countRequests(total)), 0);
    } finally {
      other.close();
      remove();
    }
  });
});
