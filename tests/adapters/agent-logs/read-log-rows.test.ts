import assert from "node:assert/strict";
import { cpSync, existsSync, mkdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { type LogRow, type RowReading, readLogRows } from "../../../adapters/agent-logs/read-log-rows.ts";
import { createSqliteOpener } from "../../../adapters/sqlite/open-sqlite.ts";
import type { SqliteConnection } from "../../../core/ports/sqlite.ts";
import { inFolder, type TestFolder } from "./in-folder.rig.ts";

const queries = ["message", "other_message"].map((table) => ({
  table,
  columns: ["id", "data", "missing"],
  changedAt: "time_updated",
}));

async function createDatabase(path: string, rows: number): Promise<SqliteConnection> {
  const connection = await createSqliteOpener().open(path);
  connection.execute("CREATE TABLE message (id TEXT PRIMARY KEY, data TEXT, time_updated INTEGER)");
  insert(connection, 1, rows);
  return connection;
}

function insert(connection: SqliteConnection, from: number, to: number): void {
  for (let id = from; id <= to; id++)
    connection.prepare("INSERT INTO message VALUES (?, ?, ?)").run([`m${id}`, "{}", 100 + id]);
}

async function read(
  path: string,
  folder: TestFolder,
  after: Record<string, string | number> = {},
  now = Date.UTC(2026, 7, 31),
  more: Partial<RowReading> = {},
) {
  const rows: LogRow[] = [];
  const scratchFolder = join(folder.path, "scratch");
  const reading = { queries, after, now, scratchFolder, ...more };
  const result = await readLogRows(path, reading, (row) => void rows.push(row));
  assert.ok(!existsSync(scratchFolder), "a copy is left");
  rmSync(`${scratchFolder}.lock`, { force: true });
  const found = result.ok ? result.after : result.reason;
  return { result, found, ids: rows.map(({ values, line }) => `${line} ${values.id}`) };
}

describe("readLogRows()", () => {
  it("reads the rows of the tables that exist, and changes nothing", async () => {
    await inFolder(async (folder) => {
      const path = join(folder.path, "a.db");
      (await createDatabase(path, 2)).close();
      const before = folder.list();
      const { found, ids } = await read(path, folder);
      assert.deepEqual(found, { message: 102 });
      assert.deepEqual(ids, ["1 m1", "2 m2"]);
      assert.deepEqual(folder.list(), before);
    });
  });

  // Seen to fail with a connection that is opened read-only in place: SQLite then creates the -shm.
  it("reads the rows that are only in a -wal, without touching it or creating a -shm", async () => {
    await inFolder(async (folder) => {
      const connection = await createDatabase(join(folder.path, "open.db"), 3);
      // As after a crash: a -wal without a -shm.
      const path = join(folder.path, "a.db");
      for (const end of ["", "-wal"]) cpSync(join(folder.path, `open.db${end}`), path + end);
      connection.close();
      const before = folder.list();
      assert.deepEqual((await read(path, folder)).ids, ["1 m1", "2 m2", "3 m3"]);
      assert.deepEqual(folder.list(), before);
    });
  });

  it("reads while the agent has the database open and is writing to it", async () => {
    await inFolder(async (folder) => {
      const path = join(folder.path, "a.db");
      const connection = await createDatabase(path, 1);
      connection.prepare("BEGIN IMMEDIATE").run([]);
      insert(connection, 2, 2);
      const before = folder.list();
      assert.deepEqual((await read(path, folder)).ids, ["1 m1"]);
      assert.deepEqual(folder.list(), before);
      connection.prepare("COMMIT").run([]);
      assert.deepEqual((await read(path, folder)).ids, ["1 m1", "2 m2"]);
      connection.close();
    });
  });

  it("reads again only the rows since the last change that it knows", async () => {
    await inFolder(async (folder) => {
      const path = join(folder.path, "a.db");
      const connection = await createDatabase(path, 3);
      connection.prepare("UPDATE message SET time_updated = 500 WHERE id = 'm1'").run([]);
      insert(connection, 4, 4);
      connection.close();
      const { found, ids } = await read(path, folder, { message: 103 });
      assert.deepEqual(found, { message: 500 });
      assert.deepEqual(ids, ["1 m1", "3 m3", "4 m4"]);
    });
  });

  it("reads rows of a clock that was ahead, and those with earlier times after it was set right", async () => {
    await inFolder(async (folder) => {
      const path = join(folder.path, "a.db");
      const [yesterday, now, tomorrow] = [29, 30, 31].map((day) => Date.UTC(2026, 7, day)) as [
        number,
        number,
        number,
      ];
      const change = (id: string, at: number) =>
        connection.prepare("INSERT OR REPLACE INTO message VALUES (?, '{}', ?)").run([id, at]);
      const connection = await createDatabase(path, 0);
      change("m1", yesterday);
      change("m2", tomorrow);
      const early = await read(path, folder, {}, now);
      assert.deepEqual([early.found, early.ids], [{ message: yesterday }, ["1 m1", "2 m2"]]);
      // The import itself may have run while the clock was ahead.
      const ahead = await read(path, folder, {}, tomorrow);
      assert.deepEqual(ahead.found, { message: tomorrow });
      change("m3", now);
      connection.close();
      for (const { found } of [early, ahead])
        assert.ok((await read(path, folder, found as Record<string, number>, now)).ids.includes("3 m3"));
    });
  });

  it("copies nothing unless the disk has room for the copy and as much again, but at least 20 MiB", async () => {
    await inFolder(async (folder) => {
      const path = join(folder.path, "a.db");
      const connection = await createDatabase(path, 3);
      const copyBytes = ["", "-wal"].reduce((sum, end) => sum + statSync(path + end).size, 0);
      const keptFreeBytes = 20 * 1024 * 1024;
      const readWith = (freeBytes: number | null) =>
        read(path, folder, {}, undefined, { freeBytes: () => freeBytes });
      const freeBytes = copyBytes + keptFreeBytes - 1;
      const { result, ids } = await readWith(freeBytes);
      assert.deepEqual(
        [result, ids],
        [{ ok: false, reason: "no_space", space: { copyBytes, keptFreeBytes, freeBytes } }, []],
      );
      for (const enough of [freeBytes + 1, null]) assert.equal((await readWith(enough)).ids.length, 3);
      connection.close();
      assert.equal((await readWith(0)).ids.length, 3, "nothing is copied of a database that is not in use");
    });
  });

  it("reports a file that is not a database, or cannot be read", async () => {
    await inFolder(async (folder) => {
      const path = folder.write(
        "a.db",
        "not a database, and long enough to have a header of its own".repeat(20),
      );
      assert.equal((await read(path, folder)).found, "corrupt");
      assert.deepEqual((await read(folder.write("empty.db", ""), folder)).found, {});
      mkdirSync(join(folder.path, "folder.db"));
      assert.equal((await read(join(folder.path, "folder.db"), folder)).found, "io");
    });
  });
});
