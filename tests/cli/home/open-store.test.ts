import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { describe, it } from "node:test";
import { createSqliteOpener } from "../../../adapters/sqlite/open-sqlite.ts";
import { databaseFile } from "../../../cli/home/database-file.ts";
import { withStore } from "../../../cli/home/open-store.ts";
import { createSampleHome } from "../run-command.rig.ts";

describe("withStore()", () => {
  it("reports a damaged database to a writing command, and leaves it as it is", async () => {
    const { home, remove } = await createSampleHome();
    try {
      const damaged = Buffer.alloc(20_000, "no database ");
      writeFileSync(databaseFile(home), damaged);
      await assert.rejects(
        withStore(home, { readOnly: false, create: true }, async () => {}),
        {
          name: "CommandFailure",
          message: /meter\.db is damaged: .* It was not changed\.\n.*: meter start$/,
        },
      );
      assert.deepEqual(readFileSync(databaseFile(home)), damaged);
      assert.equal(existsSync(`${databaseFile(home)}.corrupt`), false);
    } finally {
      remove();
    }
  });

  it("says how to update a database of an older version, also while a daemon of that version runs", async () => {
    const { home, remove } = await createSampleHome();
    try {
      const older = await createSqliteOpener().open(databaseFile(home));
      older.execute("PRAGMA user_version = 14");
      older.close();
      await assert.rejects(
        withStore(home, { readOnly: true }, async () => {}),
        {
          name: "CommandFailure",
          message:
            "The database was written by an older version of meter.\nUpdate it: meter stop && meter start",
        },
      );
    } finally {
      remove();
    }
  });

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
