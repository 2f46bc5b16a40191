import assert from "node:assert/strict";
import { after, before, beforeEach, describe, it } from "node:test";
import { Kysely, sql } from "kysely";
import { openPgliteInMemory } from "../../../adapters/postgres/pglite.ts";
import { migratedSnapshot } from "../../cloud/kit/engines.ts";

interface Tables {
  things: { id: number; name: string | null };
}

describe("openPgliteInMemory()", () => {
  let db: Kysely<Tables>;
  let other: Kysely<Tables>;
  before(async () => {
    const { dialect } = openPgliteInMemory(await migratedSnapshot());
    db = new Kysely({ dialect });
    other = new Kysely({ dialect });
  });
  beforeEach(async () => {
    await sql`drop table if exists things`.execute(db);
    await sql`create table things (id integer primary key, name text)`.execute(db);
  });
  after(() => db.destroy());

  const insert = (id: number, name: string | null, into = db) =>
    into.insertInto("things").values({ id, name }).executeTakeFirst();
  const namesOf = async (from = db) =>
    (await from.selectFrom("things").select("name").orderBy("id").execute()).map(({ name }) => name);
  const prepared = async () =>
    (await sql<{ statement: string }>`select statement from pg_prepared_statements`.execute(db)).rows.map(
      ({ statement }) => statement,
    );

  it("returns the rows of each run, and how many rows it changed", async () => {
    for (const [id, name] of [
      [1, "one"],
      [2, null],
      [3, "Zoë"],
    ] as const) {
      assert.equal((await insert(id, name)).numInsertedOrUpdatedRows, 1n);
    }
    assert.deepEqual(await namesOf(), ["one", null, "Zoë"]);
    for (const least of [1, 3, 9]) {
      const { rows } = await sql<{ id: number }>`select id from things where id >= ${least}`.execute(db);
      assert.deepEqual(
        rows,
        [1, 2, 3].filter((id) => id >= least).map((id) => ({ id })),
      );
    }
    const removed = await db.deleteFrom("things").where("id", ">", 1).executeTakeFirst();
    assert.equal(removed.numDeletedRows, 2n);
  });

  it("prepares a statement once for all drivers, but not an insert of many rows", async () => {
    await insert(1, "one");
    await insert(2, "two", other);
    await insert(3, "three");
    const rows = Array.from({ length: 1_000 }, (_, at) => ({ id: 100 + at, name: "many" }));
    await db.insertInto("things").values(rows).execute();
    const inserts = (await prepared()).filter((text) => text.startsWith("insert into"));
    assert.deepEqual(inserts, ['insert into "things" ("id", "name") values ($1, $2)']);
    assert.equal((await namesOf()).length, 1_003);
  });

  // Planted: statements kept after a change of the schema; "cached plan must not change result type".
  it("reads the columns that a table has after a change", async () => {
    const read = async () => (await sql`select * from things`.execute(db)).rows;
    await insert(1, "one");
    assert.deepEqual(await read(), [{ id: 1, name: "one" }]);
    await sql`alter table things add column size integer default 7`.execute(db);
    assert.deepEqual(await read(), [{ id: 1, name: "one", size: 7 }]);
  });

  // Planted: statements kept that were prepared in a transaction whose change of the schema did not last.
  it("reads the columns that a table has after a change is rolled back, in whole or to a savepoint", async () => {
    const read = async (from = db) => (await sql`select * from things`.execute(from)).rows;
    await insert(1, "one");
    const add = (to: Kysely<Tables>) => sql`alter table things add column size integer default 7`.execute(to);
    const work = db.transaction().execute(async (transaction) => {
      await sql`savepoint before`.execute(transaction);
      await add(transaction);
      assert.deepEqual(await read(transaction), [{ id: 1, name: "one", size: 7 }]);
      await sql`rollback to savepoint before`.execute(transaction);
      assert.deepEqual(await read(transaction), [{ id: 1, name: "one" }]);
      await add(transaction);
      assert.deepEqual(await read(transaction), [{ id: 1, name: "one", size: 7 }]);
      throw new Error("rolled back");
    });
    await assert.rejects(work, /rolled back/);
    assert.deepEqual(await read(), [{ id: 1, name: "one" }]);
  });

  // Planted: statements kept after a change of the search path, with the columns and parameters of the other table.
  it("reads the table that the search path finds", async () => {
    await sql`create schema other_schema`.execute(db);
    await sql`create table other_schema.things (id text, size integer)`.execute(db);
    const read = async (id: number | string, from = db) =>
      (await sql`select * from things where id = ${id}`.execute(from)).rows;
    await insert(1, "one");
    for (const path of ["other_schema", "public"]) {
      await sql.raw(`set search_path = ${path}`).execute(db);
      assert.deepEqual(
        await read(path === "public" ? 1 : "one"),
        path === "public" ? [{ id: 1, name: "one" }] : [],
      );
    }
    await db.transaction().execute(async (transaction) => {
      await sql`set local\n search_path = other_schema`.execute(transaction);
      assert.deepEqual(await read("one", transaction), []);
    });
    assert.deepEqual(await read(1), [{ id: 1, name: "one" }]);
    await sql`drop schema other_schema cascade`.execute(db);
  });

  it("prepares again after `discard all` and `deallocate all`", async () => {
    await insert(1, "one");
    for (const statement of ["discard all", "deallocate all"]) {
      assert.deepEqual(await namesOf(), ["one"]);
      await sql.raw(statement).execute(db);
    }
    assert.deepEqual(await namesOf(), ["one"]);
  });

  it("closes the statement that was not used for the longest time", async () => {
    await namesOf();
    for (let at = 0; at < 300; at++) {
      await sql.raw(`select ${at}`).execute(db);
      if (at % 50 === 0) await namesOf();
    }
    const texts = await prepared();
    assert.ok(texts.length <= 128, `${texts.length} statements`);
    assert.ok(texts.includes("select 299") && texts.some((text) => text.includes('from "things"')));
    assert.ok(!texts.includes("select 0"));
  });

  it("runs a statement after one that failed, in preparation and in execution", async () => {
    await insert(1, "one");
    for (let round = 0; round < 3; round++) {
      await assert.rejects(sql`select nothing from things`.execute(db), { code: "42703" });
      await assert.rejects(insert(1, "again"), { code: "23505" });
      await assert.rejects(sql`select 1 / ${0}::integer`.execute(db), { code: "22012" });
      assert.deepEqual(await namesOf(), ["one"]);
    }
  });

  it("rolls back a transaction with a failed statement", async () => {
    const work = db.transaction().execute(async (transaction) => {
      await insert(1, "one", transaction);
      await assert.rejects(insert(1, "again", transaction), { code: "23505" });
      await assert.rejects(insert(2, "two", transaction), { code: "25P02" });
      throw new Error("rolled back");
    });
    await assert.rejects(work, /rolled back/);
    assert.deepEqual(await namesOf(), []);
  });

  it("keeps the statements of one driver out of the transaction of another", async () => {
    let read: Promise<unknown> = Promise.resolve();
    await db.transaction().execute(async (transaction) => {
      await insert(1, "one", transaction);
      read = namesOf(other);
      await insert(2, "two", transaction);
    });
    assert.deepEqual(await read, ["one", "two"]);
  });
});
