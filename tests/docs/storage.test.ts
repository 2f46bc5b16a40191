import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { describe, it } from "node:test";
import { createSqliteOpener } from "../../adapters/sqlite/open-sqlite.ts";
import { migrate } from "../../daemon/store/migrate.ts";
import { latestSchemaVersion } from "../../daemon/store/migrations.ts";
import { openStore } from "../../daemon/store/open-store.ts";
import type { Store } from "../../daemon/store/port/store.ts";
import { sampleRecord } from "../daemon/store/sample-records.rig.ts";

const page = readFileSync(join(import.meta.dirname, "../../docs/storage.md"), "utf8");

describe("docs/storage.md", () => {
  it("lists each table of the database, and no other", async () => {
    const connection = await createSqliteOpener().open(":memory:");
    migrate(connection);
    const tables = connection
      .prepare<{ name: string }>(
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name",
      )
      .all([]);
    connection.close();
    const [section = ""] = page.split("## Tables")[1]?.split("\n## ") ?? [];
    const listed = [...section.matchAll(/^\| (`[^|]*) \|/gm)].flatMap(([, names = ""]) =>
      [...names.matchAll(/`([a-z_]+)`/g)].map(([, name]) => name),
    );
    assert.deepEqual(
      listed.sort(),
      tables.map(({ name }) => name),
    );
  });

  it("has a command that backs up a database in use, whose copy reports the same totals", async () => {
    const [, script = ""] = /node -e '([^']+)' ~\/\.meter\/meter\.db backup\.db/.exec(page) ?? [];
    assert.match(script, /VACUUM INTO/);
    const folder = mkdtempSync(join(tmpdir(), "meter-backup-"));
    const path = join(folder, "meter.db");
    const store = await openStore(createSqliteOpener(), path);
    try {
      store.records.insert(Array.from({ length: 700 }, () => sampleRecord()));
      const wal = statSync(`${path}-wal`).size;
      assert.ok(wal > 0, "records are in the -wal");
      const backUp = () =>
        execFileSync(process.execPath, ["-e", script, path, join(folder, "backup.db")], { stdio: "ignore" });
      backUp();
      assert.throws(backUp, "the file exists");
      const copy = await openStore(createSqliteOpener(), join(folder, "backup.db"));
      try {
        const totals = (from: Store) => from.reports.read({ by: "project", from: null, to: null });
        assert.deepEqual(await totals(copy), await totals(store));
        assert.equal(copy.records.count({ from: null, to: null }), 700);
        assert.equal(copy.setAsidePath, null);
      } finally {
        copy.close();
      }
    } finally {
      store.close();
      rmSync(folder, { recursive: true, force: true });
    }
  });

  it("states the version of the schema", () => {
    const sentence = `\`PRAGMA user_version\`, now ${latestSchemaVersion}.`;
    assert.ok(page.includes(sentence), `docs/storage.md does not say: ${sentence}`);
  });
});
