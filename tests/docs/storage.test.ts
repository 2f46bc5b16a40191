import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { createSqliteOpener } from "../../adapters/sqlite/open-sqlite.ts";
import { migrate } from "../../daemon/store/migrate.ts";
import { latestSchemaVersion } from "../../daemon/store/migrations.ts";

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

  it("states the version of the schema", () => {
    assert.ok(page.includes(`\`PRAGMA user_version\`, now ${latestSchemaVersion}.`));
  });
});
