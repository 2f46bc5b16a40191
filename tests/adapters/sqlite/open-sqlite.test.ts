import assert from "node:assert/strict";
import {
  chmodSync,
  chownSync,
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { after, describe, it } from "node:test";
import { type Dialect, Kysely, sql } from "kysely";
import { immutableAddress, prepareDatabaseFile } from "../../../adapters/sqlite/database-file.ts";
import { connect, createSqliteOpener } from "../../../adapters/sqlite/open-sqlite.ts";
import { toStoreError } from "../../../adapters/sqlite/store-errors.ts";
import {
  type SqliteConnection,
  type SqliteOptions,
  StoreError,
  type StoreErrorReason,
} from "../../../core/ports/sqlite.ts";

interface Item {
  id: number | bigint;
  name: string | null;
  data: Uint8Array | null;
}
interface Tables {
  item: Item;
}

/** A user that owns nothing else. */
const OTHER_USER = 65_534;

const opener = createSqliteOpener();
const folder = mkdtempSync(join(tmpdir(), "meter-sqlite-"));
after(() => rmSync(folder, { recursive: true, force: true }));

let files = 0;
const newPath = () => join(folder, `${++files}.db`);

async function withItems(
  work: (connection: SqliteConnection<Dialect>, path: string) => void | Promise<void>,
  options: SqliteOptions = {},
): Promise<void> {
  const path = newPath();
  const connection = await opener.open(path, options);
  try {
    connection.execute("CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT UNIQUE, data BLOB) STRICT");
    await work(connection, path);
  } finally {
    connection.close();
  }
}

const fails = (reason: StoreErrorReason) => (error: unknown) => {
  assert.ok(error instanceof StoreError, String(error));
  assert.equal(error.reason, reason, error.message);
  return true;
};

const rowsOf = (rows: readonly unknown[]) => rows.map((row) => ({ ...(row as object) }));
const insertItem = "INSERT INTO item (id, name, data) VALUES (?, ?, ?)";

describe("a prepared statement", () => {
  const numbers: [text: string, bound: number | bigint, read: number | bigint][] = [
    ["a small number", 7, 7],
    ["2^53 - 1", 9007199254740991, 9007199254740991],
    ["2^53 - 1 as bigint", 9007199254740991n, 9007199254740991],
    ["2^53", 9007199254740992n, 9007199254740992n],
    ["2^53 + 1", 9007199254740993n, 9007199254740993n],
    ["the largest", 9223372036854775807n, 9223372036854775807n],
    ["the smallest", -9223372036854775808n, -9223372036854775808n],
    ["-(2^53 - 1)", -9007199254740991n, -9007199254740991],
    ["-(2^53 + 1)", -9007199254740993n, -9007199254740993n],
  ];
  for (const [text, bound, read] of numbers) {
    it(`keeps an integer exactly: ${text}`, () =>
      withItems((connection) => {
        connection.prepare(insertItem).run([bound, null, null]);
        const select = connection.prepare<Item>("SELECT id FROM item");
        assert.equal(select.get([])?.id, read);
        assert.equal(select.all([])[0]?.id, read);
        assert.equal([...select.iterate([])][0]?.id, read);
      }));
  }

  it("keeps blobs, text and NULL", () =>
    withItems((connection) => {
      const data = Uint8Array.from({ length: 70_000 }, (_, index) => index % 256);
      const insert = connection.prepare(insertItem);
      insert.run([1, "grüße 🌍", data]);
      insert.run([2, null, new Uint8Array(0)]);
      const [first, second] = connection.prepare<Item>("SELECT * FROM item ORDER BY id").all([]);
      assert.equal(first?.name, "grüße 🌍");
      assert.deepEqual(new Uint8Array(first?.data ?? []), data);
      assert.equal(second?.name, null);
      assert.equal(second?.data?.length, 0);
    }));

  it("names the columns of a table as they are, also when one is added later", () =>
    withItems((connection) => {
      connection.prepare(insertItem).run([1, "a", null]);
      const select = connection.prepare<Item>("SELECT * FROM item");
      assert.deepEqual(rowsOf(select.all([])), [{ id: 1, name: "a", data: null }]);
      connection.execute("ALTER TABLE item ADD COLUMN size INTEGER DEFAULT 9007199254740993");
      const row = { id: 1, name: "a", data: null, size: 9007199254740993n };
      // Deno's first `all()` after the change would still have the former columns.
      for (const rows of [[select.get([])], select.all([]), [...select.iterate([])]])
        assert.deepEqual(rowsOf(rows), [row]);
    }));

  it("returns the number of changed rows, and null for no row", () =>
    withItems((connection) => {
      const insert = connection.prepare(insertItem);
      assert.equal(insert.run([1, "a", null]), 1);
      assert.equal(insert.run([2, "b", null]), 1);
      assert.equal(connection.prepare("UPDATE item SET data = NULL").run([]), 2);
      assert.equal(connection.prepare("DELETE FROM item WHERE id = ?").run([9]), 0);
      assert.equal(connection.prepare("SELECT * FROM item WHERE id = ?").get([9]), null);
    }));

  it("returns rows from RETURNING", () =>
    withItems((connection) => {
      const insert = connection.prepare<Item>(`${insertItem} RETURNING id, name`);
      assert.deepEqual(rowsOf(insert.all([5, "x", null])), [{ id: 5, name: "x" }]);
    }));

  it("iterates twice at once over the same SQL", () =>
    withItems((connection) => {
      for (const id of [1, 2, 3]) connection.prepare(insertItem).run([id, null, null]);
      const select = connection.prepare<Item>("SELECT id FROM item ORDER BY id");
      const pairs: string[] = [];
      for (const outer of select.iterate([])) {
        for (const inner of select.iterate([])) pairs.push(`${outer.id}${inner.id}`);
      }
      assert.deepEqual(pairs, ["11", "12", "13", "21", "22", "23", "31", "32", "33"]);
    }));

  it("is reused, even after the cache overflowed and after a schema change", () =>
    withItems((connection) => {
      const first = connection.prepare("SELECT * FROM item");
      assert.equal(connection.prepare("SELECT * FROM item"), first);
      for (let n = 0; n < 300; n++) connection.prepare(`SELECT ${n}`).get([]);
      connection.execute("ALTER TABLE item ADD COLUMN more TEXT");
      connection.prepare(insertItem).run([1, "a", null]);
      assert.equal(first.all([]).length, 1);
    }));
});

describe("transaction()", () => {
  it("commits and returns the result, and rolls back if the work throws", () =>
    withItems((connection) => {
      const insert = connection.prepare(insertItem);
      const result = connection.transaction(() => insert.run([1, "kept", null]));
      assert.equal(result, 1);
      assert.throws(
        () =>
          connection.transaction(() => {
            insert.run([2, "lost", null]);
            throw new RangeError("planned");
          }),
        /planned/,
      );
      assert.deepEqual(rowsOf(connection.prepare("SELECT name FROM item").all([])), [{ name: "kept" }]);
    }));

  it("leaves the connection usable after a failed statement", () =>
    withItems((connection) => {
      const insert = connection.prepare(insertItem);
      insert.run([1, "a", null]);
      assert.throws(() => connection.transaction(() => insert.run([2, "a", null])), fails("constraint"));
      connection.transaction(() => insert.run([2, "b", null]));
      assert.equal(connection.prepare("SELECT id FROM item").all([]).length, 2);
    }));
});

describe("snapshot()", () => {
  it("sees one state of the database while another connection commits, and returns the result", () =>
    withItems(async (connection, path) => {
      const insert = connection.prepare(insertItem);
      insert.run([1, "before", null]);
      const reader = await opener.open(path, { readOnly: true });
      const count = () => reader.prepare<{ n: number }>("SELECT count(*) AS n FROM item").get([])?.n;
      const counts = reader.snapshot(() => {
        const first = count();
        insert.run([2, "meanwhile", null]);
        return [first, count()];
      });
      assert.deepEqual(counts, [1, 1]);
      assert.equal(count(), 2);
      reader.close();
    }));

  it("leaves the connection usable if the work throws", () =>
    withItems((connection) => {
      const fail = () => {
        throw new RangeError("planned");
      };
      assert.throws(() => connection.snapshot(fail), /planned/);
      assert.equal(
        connection.snapshot(() => 1),
        1,
      );
    }));
});

describe("the Kysely dialect", () => {
  it("inserts, returns, updates and streams", () =>
    withItems(async (connection) => {
      const db = new Kysely<Tables>({ dialect: await connection.dialect() });
      const inserted = await db
        .insertInto("item")
        .values([
          { id: 9007199254740993n, name: "big", data: null },
          { id: 2, name: null, data: Uint8Array.of(1, 2) },
        ])
        .returning("id")
        .execute();
      assert.deepEqual(rowsOf(inserted), [{ id: 9007199254740993n }, { id: 2 }]);
      const updated = await db
        .updateTable("item")
        .set({ name: "two" })
        .where("id", "=", 2)
        .executeTakeFirst();
      assert.equal(updated.numUpdatedRows, 1n);
      const names: (string | null)[] = [];
      for await (const row of db.selectFrom("item").select("name").orderBy("id").stream())
        names.push(row.name);
      assert.deepEqual(names, ["two", "big"]);
    }));

  it("runs concurrent transactions one after another, and rolls back only the failed one", () =>
    withItems(async (connection) => {
      const db = new Kysely<Tables>({ dialect: await connection.dialect() });
      const one = (id: number, fail: boolean) =>
        db.transaction().execute(async (trx) => {
          await trx
            .insertInto("item")
            .values({ id, name: `a${id}`, data: null })
            .execute();
          await sql`SELECT 1`.execute(trx);
          await trx
            .insertInto("item")
            .values({ id: id + 10, name: fail ? `a${id}` : `b${id}`, data: null })
            .execute();
        });
      const ended = await Promise.allSettled([one(1, false), one(2, true), one(3, false)]);
      assert.deepEqual(
        ended.map(({ status }) => status),
        ["fulfilled", "rejected", "fulfilled"],
      );
      const rows = await db.selectFrom("item").select("id").orderBy("id").execute();
      assert.deepEqual(
        rows.map(({ id }) => id),
        [1, 3, 11, 13],
      );
    }));

  it("throws the port's errors, and keeps the connection open after destroy()", () =>
    withItems(async (connection) => {
      const db = new Kysely<Tables>({ dialect: await connection.dialect() });
      await db.insertInto("item").values({ id: 1, name: "a", data: null }).execute();
      await assert.rejects(
        db.insertInto("item").values({ id: 1, name: "b", data: null }).execute(),
        fails("constraint"),
      );
      await db.destroy();
      assert.equal(connection.prepare("SELECT 1 FROM item").all([]).length, 1);
    }));
});

describe("errors", () => {
  it("have the reasons constraint and invalid_value, with the driver's error as cause", () =>
    withItems((connection) => {
      const insert = connection.prepare(insertItem);
      insert.run([1, "a", null]);
      for (const work of [
        () => insert.run([1, "b", null]),
        () => insert.run([2, "a", null]),
        () => insert.run([3, Uint8Array.of(1), null]),
      ]) {
        assert.throws(work, (error) => fails("constraint")(error) && (error as Error).cause instanceof Error);
      }
      assert.throws(() => insert.run([2n ** 63n, null, null]), fails("invalid_value"));
    }));

  it("have the reason other for invalid SQL", () =>
    withItems((connection) => {
      assert.throws(() => connection.prepare("SELEC 1"), fails("other"));
      assert.throws(() => connection.execute("SELEC 1"), fails("other"));
    }));

  it("have the reason busy for a second writer, at once with a timeout of 0, while reads continue", () =>
    withItems(async (connection, path) => {
      const second = await opener.open(path, { busyTimeoutMs: 0 });
      connection.execute("BEGIN IMMEDIATE");
      connection.prepare(insertItem).run([1, "a", null]);
      assert.throws(() => second.transaction(() => 0), fails("busy"));
      assert.throws(() => second.execute("BEGIN IMMEDIATE"), fails("busy"));
      assert.throws(() => second.prepare("DELETE FROM item").run([]), fails("busy"));
      assert.equal(second.prepare("SELECT * FROM item").all([]).length, 0);
      connection.execute("COMMIT");
      assert.equal(second.prepare("SELECT * FROM item").all([]).length, 1);
      assert.equal(
        second.transaction(() => 1),
        1,
      );
      second.close();
    }));

  it("have the reason disk_full if the file cannot grow, and the connection recovers", () =>
    withItems((connection) => {
      connection.execute("PRAGMA max_page_count = 8");
      const insert = connection.prepare(insertItem);
      assert.throws(
        () => connection.transaction(() => insert.run([1, null, new Uint8Array(100_000)])),
        fails("disk_full"),
      );
      connection.transaction(() => insert.run([2, "small", null]));
      assert.equal(connection.prepare("SELECT * FROM item").all([]).length, 1);
    }));

  it("are derived from SQLite's message if the driver has no code, as in Deno's exec()", () => {
    const cases: [string, StoreErrorReason][] = [
      ["database is locked", "busy"],
      ["locking protocol", "busy"],
      ["out of memory", "out_of_memory"],
      ["attempt to write a readonly database", "read_only"],
      ["disk I/O error", "io"],
      ["database disk image is malformed", "corrupt"],
      ["file is not a database", "corrupt"],
      ["database or disk is full", "disk_full"],
      ["unable to open database file: /x", "cannot_open"],
      ["UNIQUE constraint failed: t.b", "constraint"],
      ["something new", "other"],
    ];
    for (const [message, reason] of cases) assert.equal(toStoreError(new Error(message)).reason, reason);
    assert.equal(toStoreError(Object.assign(new Error("x"), { errcode: 266 })).reason, "io");
    assert.equal(toStoreError(Object.assign(new Error("x"), { errcode: 8458 })).reason, "corrupt");
    assert.equal(toStoreError(Object.assign(new Error("x"), { errno: 5 })).reason, "busy");
    // A retry can help, so no record may be refused for these.
    assert.equal(toStoreError(Object.assign(new Error("x"), { errcode: 7 })).reason, "out_of_memory");
    assert.equal(toStoreError(Object.assign(new Error("x"), { errcode: 15 })).reason, "busy");
    assert.equal(
      toStoreError(Object.assign(new Error("unsupported file format"), { errcode: 1 })).reason,
      "corrupt",
    );
    assert.equal(toStoreError("text").reason, "other");
  });
});

describe("open()", () => {
  it("creates folder and file for their owner only, in WAL mode", {
    skip: process.platform === "win32",
  }, async () => {
    const path = join(folder, "new", "home", "meter.db");
    const connection = await opener.open(path);
    connection.execute("CREATE TABLE t (a) ");
    assert.equal(statSync(join(folder, "new", "home")).mode & 0o777, 0o700);
    for (const end of ["", "-wal", "-shm"]) assert.equal(statSync(path + end).mode & 0o777, 0o600);
    assert.equal(
      connection.prepare<{ journal_mode: string }>("PRAGMA journal_mode").get([])?.journal_mode,
      "wal",
    );
    connection.close();
    connection.close();
  });

  it("applies the options", async () => {
    const path = newPath();
    const value = (connection: SqliteConnection<Dialect>, name: string) =>
      Object.values(connection.prepare<Record<string, unknown>>(`PRAGMA ${name}`).get([]) ?? {})[0];
    const normal = await opener.open(path, { synchronous: "normal", busyTimeoutMs: 7 });
    assert.equal(value(normal, "synchronous"), 1);
    assert.equal(value(normal, "busy_timeout"), 7);
    const full = await opener.open(path);
    assert.equal(value(full, "synchronous"), 2);
    assert.equal(value(full, "trusted_schema"), 0);
    assert.equal(value(full, "secure_delete"), 1);
    assert.equal(value(full, "foreign_keys"), 1);
    normal.close();
    full.close();
  });

  it("resets a mode that others can read to 0600", { skip: process.platform === "win32" }, async () => {
    const path = newPath();
    (await opener.open(path)).close();
    chmodSync(path, 0o666);
    (await opener.open(path)).close();
    assert.equal(statSync(path).mode & 0o777, 0o600);
  });

  it("makes the files beside it writable that SQLite created while it was read-only", {
    skip: process.platform === "win32" && "no modes",
  }, async () => {
    const path = newPath();
    (await opener.open(path)).close();
    for (const end of ["-wal", "-shm"]) writeFileSync(path + end, "", { mode: 0o400 });
    prepareDatabaseFile(path, true);
    assert.equal(statSync(`${path}-shm`).mode & 0o777, 0o400);
    prepareDatabaseFile(path, false);
    for (const end of ["-wal", "-shm"]) assert.equal(statSync(path + end).mode & 0o777, 0o600);
  });

  it("rejects a file that its owner can't write to, unless it is only read", async () => {
    const path = newPath();
    (await opener.open(path)).close();
    chmodSync(path, 0o400);
    const isRoot = process.geteuid?.() === 0;
    if (isRoot) {
      // Root may write to every file, so another user opens it.
      chmodSync(folder, 0o711);
      chownSync(path, OTHER_USER, OTHER_USER);
      process.seteuid?.(OTHER_USER);
    }
    try {
      assert.throws(
        () => prepareDatabaseFile(path, false),
        (error) =>
          error instanceof StoreError && error.reason === "read_only" && error.message.includes(path),
      );
      assert.equal(prepareDatabaseFile(path, true), false);
      if (process.platform === "win32") return;
      chmodSync(path, 0o000);
      for (const readOnly of [true, false])
        assert.throws(
          () => prepareDatabaseFile(path, readOnly),
          (error) =>
            error instanceof StoreError &&
            error.reason === "cannot_open" &&
            error.message === `the database's file can't be read. Allow reading it: chmod u+rw '${path}'`,
        );
    } finally {
      if (isRoot) process.seteuid?.(0);
      chmodSync(folder, 0o700);
    }
  });

  it("rejects links, folders and a folder in which others may write", {
    skip: process.platform === "win32",
  }, async () => {
    const real = newPath();
    (await opener.open(real)).close();
    const link = newPath();
    symlinkSync(real, link);
    await assert.rejects(opener.open(link), fails("unsafe_file"));
    await assert.rejects(opener.open(link, { readOnly: true }), fails("unsafe_file"));
    const dangling = newPath();
    symlinkSync(join(folder, "nowhere"), dangling);
    await assert.rejects(opener.open(dangling), fails("unsafe_file"));
    const hard = newPath();
    linkSync(real, hard);
    await assert.rejects(opener.open(hard), fails("unsafe_file"));
    await assert.rejects(opener.open(folder), fails("unsafe_file"));
    const open = join(folder, "open");
    mkdirSync(open);
    chmodSync(open, 0o777);
    await assert.rejects(opener.open(join(open, "meter.db")), fails("unsafe_file"));
    assert.equal(existsSync(join(open, "meter.db")), false);
  });

  it("opens read-only next to a writer, and creates nothing", async () => {
    const path = newPath();
    await assert.rejects(opener.open(path, { readOnly: true }), fails("missing"));
    await assert.rejects(opener.open(join(folder, "none", "x.db"), { readOnly: true }), fails("missing"));
    assert.equal(existsSync(path), false);
    const writer = await opener.open(path);
    writer.execute("CREATE TABLE t (a INTEGER) STRICT");
    const reader = await opener.open(path, { readOnly: true });
    assert.throws(() => reader.prepare("INSERT INTO t VALUES (1)").run([]), fails("read_only"));
    assert.throws(() => reader.execute("DROP TABLE t"), fails("read_only"));
    const rows = reader.prepare("SELECT a FROM t").iterate([]);
    rows.next();
    writer.prepare("INSERT INTO t VALUES (?)").run([1]);
    rows.return?.();
    assert.equal(reader.prepare("SELECT a FROM t").all([]).length, 1);
    reader.close();
    writer.close();
    const alone = await opener.open(path, { readOnly: true });
    assert.equal(alone.prepare("SELECT a FROM t").all([]).length, 1);
    alone.close();
  });

  it("rejects an emptied file as corrupt, and leaves no file of a database that could not be created", async () => {
    const path = newPath();
    writeFileSync(path, "", { mode: 0o600 });
    await assert.rejects(opener.open(path), fails("corrupt"));
    (await opener.open(path, { readOnly: true })).close();
    const other = newPath();
    // A folder in place of the log: no database can be created here.
    mkdirSync(`${other}-wal`);
    await assert.rejects(opener.open(other));
    assert.equal(existsSync(other), false);
  });

  it("writes nothing to a file that is only locked", async () => {
    const path = newPath();
    const connection = await opener.open(path, { lockOnly: true });
    connection.execute("BEGIN EXCLUSIVE");
    connection.close();
    assert.equal(statSync(path).size, 0);
    assert.equal(existsSync(`${path}-wal`), false);
    (await opener.open(path, { lockOnly: true })).close();
  });

  it("rejects a file that is not a database, a damaged page, and a truncated file as corrupt", async () => {
    const garbage = newPath();
    writeFileSync(garbage, "not a database ".repeat(1_000));
    await assert.rejects(opener.open(garbage), fails("corrupt"));
    const path = newPath();
    const whole = await opener.open(path);
    whole.execute("CREATE TABLE t (a TEXT) STRICT");
    whole.transaction(() => {
      for (let n = 0; n < 1_000; n++) whole.prepare("INSERT INTO t VALUES (?)").run(["x".repeat(100)]);
    });
    whole.close();
    assert.equal(existsSync(`${path}-wal`), false, "closing writes the WAL back");
    const bytes = readFileSync(path);
    const damaged = newPath();
    writeFileSync(damaged, bytes.fill(0x5a, 8_192, 20_000));
    const connection = await opener.open(damaged);
    assert.throws(() => connection.prepare("SELECT * FROM t").all([]), fails("corrupt"));
    connection.close();
    truncateSync(path, 6_000);
    await assert.rejects(async () => {
      const cut = await opener.open(path);
      try {
        cut.prepare("SELECT * FROM t").all([]);
      } finally {
        cut.close();
      }
    }, fails("corrupt"));
  });
});

describe("immutableAddress()", () => {
  it("reads a file without creating others, and returns null while there is a WAL", async () => {
    const path = join(folder, "with space #1.db");
    const writer = await opener.open(path);
    writer.execute("CREATE TABLE t (a INTEGER) STRICT; INSERT INTO t VALUES (9007199254740993)");
    assert.equal(immutableAddress(path), null);
    writer.close();
    const address = immutableAddress(path) ?? "";
    const reader = await connect(address, { readOnly: true });
    assert.equal(reader.prepare<{ a: bigint }>("SELECT a FROM t").get([])?.a, 9007199254740993n);
    assert.equal(existsSync(`${path}-shm`), false);
    reader.close();
    assert.equal(immutableAddress(":memory:"), null);
  });
});

describe("setAside()", () => {
  it("renames database and WAL, keeps every byte, and never overwrites", () => {
    const path = newPath();
    const contents: Record<string, string> = { "": "one", "-wal": "two" };
    for (const round of [1, 2]) {
      for (const [end, text] of Object.entries(contents)) writeFileSync(path + end, text + round);
      const target = opener.setAside(path, "corrupt");
      assert.equal(target, round === 1 ? `${path}.corrupt` : `${path}.corrupt-2`);
      for (const [end, text] of Object.entries(contents)) {
        assert.equal(readFileSync(target + end, "utf8"), text + round);
        assert.equal(existsSync(path + end), false);
      }
    }
    assert.equal(readFileSync(`${path}.corrupt`, "utf8"), "one1");
  });
});

describe("fileIdentity()", () => {
  it("stays the same on writes, changes with a copy, and is null for memory", async () => {
    const path = newPath();
    const connection = await opener.open(path);
    const before = opener.fileIdentity(path);
    connection.execute("CREATE TABLE t (a)");
    connection.close();
    assert.equal(opener.fileIdentity(path), before);
    const copy = newPath();
    writeFileSync(copy, readFileSync(path));
    assert.notEqual(opener.fileIdentity(copy), before);
    assert.equal(opener.fileIdentity(":memory:"), null);
    assert.equal(opener.fileIdentity(newPath()), null);
  });
});
