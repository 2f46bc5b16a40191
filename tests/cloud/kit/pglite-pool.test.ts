import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Kysely, sql } from "kysely";
import { openCloudDatabase } from "../../../cloud/store/open-database.ts";
import { migratedSnapshot } from "./engines.ts";
import { createPglitePool, describeState } from "./pglite-pool.ts";

const pool = createPglitePool();

const INSERT =
  "insert into accounts.people (id, name, email, created_at, updated_at) values ('1', 'A', 'b', now(), now())";

interface State {
  readonly people: number;
  readonly user: string;
  readonly memory: string;
  /** Grows with each use: the same number means a database that was just opened. */
  readonly transaction: string;
}

/** Borrows a database, runs the statements and returns it. Gives its state before the statements. */
async function use(...statements: string[]): Promise<State> {
  const { database, close } = await pool.lend(await migratedSnapshot());
  const db = openCloudDatabase(database);
  const { rows } = await sql<State>`select (select count(*)::int from accounts.people) as people,
    session_user as user, current_setting('work_mem') as memory, txid_current()::text as transaction`.execute(
    db,
  );
  for (const statement of statements) await sql.raw(statement).execute(db);
  await db.destroy();
  await close();
  return rows[0] as State;
}

const CHANGES = [
  "create table extra (n integer)",
  "alter table accounts.people add column extra integer",
  "drop table accounts.sessions",
  "drop policy requests_read on requests",
  "create function extra() returns integer language sql as 'select 1'",
  "create role extra",
  "alter role meter_app login",
  "grant meter_purge to meter_app",
  "grant select on accounts.people to meter_app",
  "alter table accounts.people enable row level security",
  "alter table accounts.people owner to meter_app",
  "alter database postgres set work_mem = '8MB'",
  "insert into cloud_migrations values ('9999-extra', now())",
];

describe("createPglitePool()", () => {
  // Seen to fail without each of the steps of `reset`.
  it("lends a returned database again, without its rows and without its session's settings", async () => {
    const first = await use(INSERT, "set work_mem = '8MB'");
    const second = await use(INSERT, "set session authorization meter_app");
    const third = await use();
    assert.ok(Number(third.transaction) > Number(second.transaction));
    assert.ok(Number(second.transaction) > Number(first.transaction));
    assert.deepEqual({ ...second, transaction: first.transaction }, first);
    assert.deepEqual({ ...third, transaction: first.transaction }, first);
  });

  it("does not lend a database again whose schema was changed", async () => {
    const { transaction } = await use("create role extra");
    assert.ok(Number((await use()).transaction) < Number(transaction));
  });
});

describe("describeState()", () => {
  it("differs after each kind of change that emptying the tables does not undo", async () => {
    const { database, close } = await pool.lend(await migratedSnapshot());
    const db = new Kysely<unknown>({ dialect: database.dialect });
    const original = await describeState(db);
    for (const change of CHANGES) {
      const undo = new Error("planned");
      const changed = db.transaction().execute(async (trx) => {
        await sql.raw(change).execute(trx);
        assert.notEqual(await describeState(trx), original, change);
        throw undo;
      });
      await assert.rejects(changed, (error) => error === undo, change);
      assert.equal(await describeState(db), original, change);
    }
    await db.destroy();
    await close();
  });
});
