import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { copyFileSync, existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { type SqliteConnection, StoreError, type StoreErrorReason } from "../../../core/ports/sqlite.ts";
import { migrate, readSchemaVersion, requireLatestSchema } from "../../../daemon/store/migrate.ts";
import { latestSchemaVersion, type Migration, migrations } from "../../../daemon/store/migrations.ts";
import { inNewFolder, opener } from "./open-sample-store.rig.ts";

const fails = (reason: StoreErrorReason, text: RegExp) => (error: unknown) => {
  assert.ok(error instanceof StoreError, String(error));
  assert.equal(error.reason, reason, error.message);
  assert.match(error.message, text);
  return true;
};

const versions = Array.from({ length: latestSchemaVersion }, (_, index) => index + 1);

/** Returns every table of ours with all its rows. */
function dump(connection: SqliteConnection): Record<string, Record<string, unknown>[]> {
  const tables = connection
    .prepare<{ name: string }>(
      "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'",
    )
    .all([]);
  return Object.fromEntries(
    tables.map(({ name }) => [
      name,
      connection
        .prepare<Record<string, unknown>>(`SELECT * FROM ${name} ORDER BY 1`)
        .all([])
        .map((row) => ({ ...row })),
    ]),
  );
}

/** Returns what the schema creates, as SQLite read it: spaces do not matter. */
function readSchema(connection: SqliteConnection): unknown[] {
  return connection
    .prepare<{ type: string; name: string; sql: string | null }>(
      "SELECT type, name, sql FROM sqlite_schema ORDER BY type, name",
    )
    .all([])
    .map(({ type, name, sql }) => [type, name, sql?.replaceAll(/\s+/g, " ").replaceAll(/ (?=[,)])/g, "")]);
}

/** Inserts two rows into each table of the version, whatever its columns are. */
function fill(connection: SqliteConnection): void {
  for (const [table, rows] of Object.entries(dump(connection))) {
    if (/^cloud_.*state$/.test(table)) {
      connection.execute(`UPDATE ${table} SET paused_reason = 'paused_manual'`);
      continue;
    }
    const columns = connection
      .prepare<{ name: string; type: string }>("SELECT name, type FROM pragma_table_info(?)")
      .all([table]);
    for (const n of [rows.length + 1, rows.length + 2]) {
      const values = columns.map(({ name, type }) => {
        if (name === "direction") return "request";
        if (name === "kind" && table === "cloud_quarantine") return "body";
        if (type === "REAL") return n + 0.5;
        return type === "INTEGER" ? BigInt(n) : type === "BLOB" ? Uint8Array.of(n) : `${name} ${n}`;
      });
      connection.prepare(`INSERT INTO ${table} VALUES (${columns.map(() => "?").join(", ")})`).run(values);
    }
  }
}

/** Checks that all rows are unchanged in the columns that existed before. */
function assertKept(before: ReturnType<typeof dump>, after: ReturnType<typeof dump>): void {
  for (const [table, rows] of Object.entries(before)) {
    const kept = (after[table] ?? []).map((row) =>
      Object.fromEntries(Object.keys(rows[0] ?? {}).map((column) => [column, row[column]])),
    );
    assert.deepEqual(kept, rows, table);
  }
}

describe("the chain of migrations", () => {
  it("counts 1 to the latest version without a gap", () => {
    assert.deepEqual(
      migrations.map(({ to }) => to),
      versions,
    );
    assert.equal(latestSchemaVersion, 40);
  });

  it("is additive: no step drops, renames or rewrites, but it may fill a column that it adds", () => {
    const rewrites = migrations.flatMap(({ statements }) => {
      const added = statements.map((statement) => /^ALTER TABLE (\w+) ADD COLUMN (\w+)/.exec(statement));
      const fills = added.flatMap((match) =>
        match === null ? [] : [`UPDATE ${match[1]} SET ${match[2]} =`],
      );
      return statements
        .map((statement) => statement.replace("ON DELETE CASCADE", ""))
        .filter((statement) => !fills.some((start) => statement.startsWith(start)))
        .filter((statement) => /\b(DROP|RENAME|UPDATE|DELETE)\b/.test(statement));
    });
    assert.deepEqual(rewrites, []);
  });

  it("creates only strict tables", () => {
    for (const statement of migrations.flatMap(({ statements }) => statements)) {
      if (statement.startsWith("CREATE TABLE")) assert.match(statement, /\) STRICT(, WITHOUT ROWID)?$/);
    }
  });

  // Source: docs/specification.md#versioning, 4.
  const contractSteps: [to: number, statement: RegExp][] = [
    [6, /ALTER TABLE request_bodies ADD COLUMN uploaded_at/],
    [7, /ALTER TABLE cloud_sync_state ADD COLUMN last_error_at/],
    [11, /ADD COLUMN last_tick_at/],
    [12, /ADD COLUMN last_body_tick_at/],
    [14, /INDEX \w+ ON request_bodies \(captured_at, uploaded_at\)/],
  ];
  for (const [to, statement] of contractSteps) {
    it(`has the specified step to ${to}`, () => {
      const step = migrations.find((candidate) => candidate.to === to);
      assert.match(step?.statements.join("\n") ?? "", statement);
    });
  }
});

describe("migrate()", () => {
  // Planted: an added column behind the constraints of its table, or left out.
  it("creates the same new database at once as step by step", () =>
    inNewFolder(async (folder) => {
      for (const version of versions) {
        // Opened again each time: Deno reads the columns of a statement once.
        const stepped = await opener.open(join(folder, "meter.db"));
        migrate(stepped, version);
        const fresh = await opener.open(":memory:");
        migrate(fresh, version);
        assert.deepEqual(readSchema(fresh), readSchema(stepped), `version ${version}`);
        assert.deepEqual(dump(fresh), dump(stepped), `version ${version}`);
        fresh.close();
        stepped.close();
      }
    }));

  for (const version of [0, ...versions]) {
    it(`migrates from version ${version} to the latest and keeps every row`, () =>
      inNewFolder(async (folder) => {
        const connection = await opener.open(join(folder, "meter.db"));
        migrate(connection, version);
        assert.equal(readSchemaVersion(connection), version);
        fill(connection);
        const before = dump(connection);
        migrate(connection);
        assert.equal(readSchemaVersion(connection), latestSchemaVersion);
        assertKept(before, dump(connection));
        requireLatestSchema(connection);
        assert.equal(
          Object.values(connection.prepare<object>("PRAGMA integrity_check").get([]) ?? {})[0],
          "ok",
        );
        connection.close();
      }));
  }

  it("does nothing the second time", () =>
    inNewFolder(async (folder) => {
      const connection = await opener.open(join(folder, "meter.db"));
      migrate(connection);
      fill(connection);
      const before = dump(connection);
      migrate(connection);
      assert.deepEqual(dump(connection), before);
      connection.close();
    }));

  // A killed process leaves its files as they were at that moment. So the files are copied before
  // each statement, BEGIN and COMMIT included, and opened again. Planted: steps without a transaction, which leaves
  // version 5 with the column of version 6, whose step then fails.
  for (const from of [0, 5]) {
    it(`is safe to kill before any statement of any step from version ${from}`, () =>
      inNewFolder(async (folder) => {
        const path = join(folder, "meter.db");
        const real = await opener.open(path);
        migrate(real, from);
        fill(real);
        const before = dump(real);
        // Most statements change no file before their transaction ends: the same files are tried once.
        const copies = new Map<string, string>();
        let kills = 0;
        const copy = () => {
          kills += 1;
          const target = join(folder, `${kills}`);
          mkdirSync(target, { mode: 0o700 });
          const hash = createHash("sha256");
          for (const end of ["", "-wal"]) {
            if (!existsSync(path + end)) continue;
            copyFileSync(path + end, join(target, `meter.db${end}`));
            hash.update(`${end} `).update(readFileSync(join(target, `meter.db${end}`)));
          }
          copies.set(hash.digest("hex"), join(target, "meter.db"));
        };
        const watched: SqliteConnection = {
          ...real,
          execute: (sql) => {
            copy();
            real.execute(sql);
          },
          transaction: (work) => {
            copy();
            const result = real.transaction(() => {
              const inner = work();
              copy();
              return inner;
            });
            copy();
            return result;
          },
        };
        migrate(watched);
        real.close();
        assert.ok(kills > 40, `${kills} kills`);
        const seen = new Set<number>();
        for (const copied of copies.values()) {
          const connection = await opener.open(copied);
          seen.add(readSchemaVersion(connection));
          assertKept(before, dump(connection));
          migrate(connection);
          assert.equal(readSchemaVersion(connection), latestSchemaVersion);
          assertKept(before, dump(connection));
          connection.close();
        }
        assert.deepEqual(
          [...seen].sort((a, b) => a - b),
          from === 0 ? [0, latestSchemaVersion] : versions.filter((version) => version >= from),
        );
      }));
  }

  const broken: [text: string, step: Migration, reason: StoreErrorReason, message: RegExp][] = [
    [
      "a statement that fails",
      { to: latestSchemaVersion + 1, statements: ["CREATE TABLE more (a) STRICT", "SELEC 1"], expects: {} },
      "migration",
      new RegExp(`migration to schema version ${latestSchemaVersion + 1} failed and was rolled back`),
    ],
    [
      "a result that is not there",
      {
        to: latestSchemaVersion + 1,
        statements: ["CREATE TABLE more (a TEXT) STRICT"],
        expects: { columns: { more: ["a", "b"] } },
      },
      "migration",
      new RegExp(`version ${latestSchemaVersion + 1} lacks more\\.b`),
    ],
    [
      "an index that is not there",
      {
        to: latestSchemaVersion + 1,
        statements: ["CREATE TABLE more (a TEXT) STRICT"],
        expects: { indexes: ["more_a"] },
      },
      "migration",
      new RegExp(`version ${latestSchemaVersion + 1} lacks more_a`),
    ],
    [
      "a gap",
      { to: latestSchemaVersion + 2, statements: ["CREATE TABLE more (a TEXT) STRICT"], expects: {} },
      "migration",
      new RegExp(`from ${latestSchemaVersion} to ${latestSchemaVersion + 2}`),
    ],
  ];
  for (const [text, step, reason, message] of broken) {
    it(`rolls back the step and stops at ${text}`, () =>
      inNewFolder(async (folder) => {
        const connection = await opener.open(join(folder, "meter.db"));
        migrate(connection);
        const after: Migration = {
          to: step.to + 1,
          statements: ["CREATE TABLE last (a TEXT) STRICT"],
          expects: {},
        };
        assert.throws(() => migrate(connection, 99, [...migrations, step, after]), fails(reason, message));
        assert.equal(readSchemaVersion(connection), latestSchemaVersion);
        const names = Object.keys(dump(connection));
        assert.equal(names.includes("more"), false);
        assert.equal(names.includes("last"), false);
        connection.close();
      }));
  }

  it("waits for another process that migrates, and then does nothing", () =>
    inNewFolder(async (folder) => {
      const path = join(folder, "meter.db");
      const first = await opener.open(path);
      migrate(first, 3);
      const second = await opener.open(path);
      // The second has read version 3 when it asks for the lock; meanwhile the first goes all the way.
      const late: SqliteConnection = {
        ...second,
        transaction: (work) => {
          migrate(first);
          return second.transaction(work);
        },
      };
      migrate(late);
      assert.equal(readSchemaVersion(second), latestSchemaVersion);
      first.close();
      second.close();
    }));

  it("refuses a newer database, and does not change it", () =>
    inNewFolder(async (folder) => {
      const connection = await opener.open(join(folder, "meter.db"));
      migrate(connection);
      connection.execute(`PRAGMA user_version = ${latestSchemaVersion + 1}`);
      assert.throws(
        () => migrate(connection),
        fails(
          "newer_schema",
          new RegExp(`schema ${latestSchemaVersion + 1}, this one knows ${latestSchemaVersion}.*upgrade`),
        ),
      );
      assert.throws(() => requireLatestSchema(connection), fails("newer_schema", /upgrade/));
      assert.equal(readSchemaVersion(connection), latestSchemaVersion + 1);
      connection.close();
    }));

  it("refuses a foreign database, and one with triggers", () =>
    inNewFolder(async (folder) => {
      const foreign = await opener.open(join(folder, "foreign.db"));
      foreign.execute("CREATE TABLE notes (a TEXT)");
      assert.throws(() => migrate(foreign), fails("not_a_store", /is not a meter database/));
      foreign.execute("PRAGMA user_version = 9");
      assert.throws(() => migrate(foreign), fails("not_a_store", /is not a meter database/));
      foreign.close();
      const ours = await opener.open(join(folder, "ours.db"));
      migrate(ours);
      ours.execute("CREATE TRIGGER spy AFTER INSERT ON requests BEGIN DELETE FROM requests; END");
      assert.throws(() => migrate(ours), fails("not_a_store", /triggers/));
      ours.close();
    }));
});

describe("requireLatestSchema()", () => {
  it("refuses an older database and names the fix", () =>
    inNewFolder(async (folder) => {
      const connection = await opener.open(join(folder, "meter.db"));
      migrate(connection, 13);
      assert.throws(
        () => requireLatestSchema(connection),
        fails("older_schema", new RegExp(`schema 13 of ${latestSchemaVersion}: start the daemon`)),
      );
      connection.close();
    }));

  it("refuses a database whose tables do not match its version", () =>
    inNewFolder(async (folder) => {
      const connection = await opener.open(join(folder, "meter.db"));
      migrate(connection);
      connection.execute("DROP TABLE coverage");
      assert.throws(() => requireLatestSchema(connection), fails("migration", /version 10 lacks coverage/));
      assert.throws(() => migrate(connection), fails("migration", /version 10 lacks coverage/));
      connection.close();
    }));
});
