import assert from "node:assert/strict";
import { it } from "node:test";
import { sql } from "kysely";
import { systemClock } from "../../../adapters/clock/mod.ts";
import { openPgliteInMemory, openPostgres } from "../../../adapters/postgres/mod.ts";
import { CLOUD_MIGRATIONS, type CloudDatabase, migrateCloud, openCloudDatabase } from "../../../cloud/mod.ts";
import { inScope } from "../../../cloud/store/transaction.ts";
import { describeOnEngines, describeOnPostgres, type Engine } from "../kit/engines.ts";

/** Tables of no single tenant: an organisation's, everybody's. People's accounts have a schema of their own. */
const NOT_TENANT = [
  "checkout_consent_records",
  "cloud_migrations",
  "organisation_members",
  "organisations",
  "pairing_sessions",
  "pricing_rates",
];

describeOnEngines("the cloud's schema", (engine) => {
  it("leads every tenant table's primary key, unique index and foreign key with workspace_id", async () => {
    const { db, close } = await engine.open();
    const { rows: indexes } = await sql<{ table: string; first: string }>`
      select t.relname as "table", a.attname as "first"
      from pg_index i
      join pg_class t on t.oid = i.indrelid
      join pg_namespace n on n.oid = t.relnamespace and n.nspname = 'public'
      join pg_attribute a on a.attrelid = t.oid and a.attnum = i.indkey[0]
      where i.indisunique`.execute(db);
    const { rows: keys } = await sql<{ table: string; first: string }>`
      select t.relname as "table", a.attname as "first"
      from pg_constraint c
      join pg_class t on t.oid = c.conrelid and t.relnamespace = 'public'::regnamespace
      join pg_namespace n on n.oid = t.relnamespace and n.nspname = 'public'
      join pg_attribute a on a.attrelid = t.oid and a.attnum = c.conkey[1]
      where c.contype = 'f'`.execute(db);
    assert.ok(indexes.length > 15 && keys.length > 5);
    const wrong = [...indexes, ...keys].filter(
      ({ table, first }) => !NOT_TENANT.includes(table) && first !== "workspace_id",
    );
    assert.deepEqual(wrong, []);
    await close();
  });

  it("makes a workspace on the least plan that stores no prompts, and keeps a year", async () => {
    const { db, close } = await engine.open();
    const [workspace_id, organisation_id] = [
      "0193a1b2-0000-7000-8000-000000000001",
      "0193a1b2-0000-7000-8000-000000000002",
    ];
    await db
      .insertInto("workspaces")
      .values({ workspace_id, organisation_id, name: "Work", created_at: 1_000 })
      .execute();
    assert.deepEqual(await db.selectFrom("workspaces").selectAll().executeTakeFirst(), {
      workspace_id,
      organisation_id,
      name: "Work",
      plan: "solo",
      store_prompt_content: false,
      data_retention_days: 365,
      audit_log_retention_days: 365,
      created_at: 1_000,
      deleted_at: null,
    });
    await close();
  });

  it("has no triggers of its own", async () => {
    const { db, close } = await engine.open();
    const { rows } = await sql`select tgname from pg_trigger where not tgisinternal`.execute(db);
    assert.deepEqual(rows, []);
    await close();
  });

  it("gives the application's roles nothing to own, no log-in and no way past row-level security", async () => {
    const { db, close } = await engine.open();
    const { rows } = await sql<Record<string, unknown>>`
      select rolname, rolsuper, rolbypassrls, rolcanlogin, rolcreaterole,
        exists (select from pg_class where relowner = r.oid) as owns
      from pg_roles r where rolname like 'meter%' order by rolname`.execute(db);
    const none = {
      rolsuper: false,
      rolbypassrls: false,
      rolcanlogin: false,
      rolcreaterole: false,
      owns: false,
    };
    assert.deepEqual(rows, [
      { rolname: "meter_accounts", ...none },
      { rolname: "meter_app", ...none },
      { rolname: "meter_lookup", ...none },
    ]);
    await close();
  });

  it("runs nothing the second time, and leaves the steps of a newer version alone", async () => {
    const { db, close } = await engine.open();
    const newer = { name: "0099-newer", statements: ["alter table machines add column colour text"] };
    assert.deepEqual(await migrateCloud(db, 1, [...CLOUD_MIGRATIONS, newer]), ["0099-newer"]);
    assert.deepEqual(await migrateCloud(db, 2), []);
    await close();
  });

  it("runs all steps or none", async () => {
    const { db, close } = await engine.open();
    const steps = [
      { name: "0098-fine", statements: ["create table colours (name text)"] },
      { name: "0099-broken", statements: ["create table colours (name text)"] },
    ];
    await assert.rejects(migrateCloud(db, 1, [...CLOUD_MIGRATIONS, ...steps]), { name: "DatabaseError" });
    const { rows } = await sql`select to_regclass('colours') as found`.execute(db);
    assert.deepEqual(rows, [{ found: null }]);
    await close();
  });
});

/** What the guide asks for at least: a log-in that owns the database and may make roles. */
async function openAsHost(engine: Engine): Promise<CloudDatabase> {
  const server = engine.server();
  if (server === null) {
    // The only database that PGlite has, of a newer PostgreSQL, in a session that stays the host's.
    const db = openCloudDatabase(openPgliteInMemory());
    await sql.raw("create role host login createrole").execute(db);
    await sql.raw("alter database postgres owner to host").execute(db);
    await sql.raw("set session authorization host").execute(db);
    return db;
  }
  const admin = await engine.open();
  await sql.raw("create role host login createrole").execute(admin.db);
  await sql.raw("create database hosted owner host template template0").execute(admin.db);
  await admin.close();
  return openCloudDatabase(openPostgres(server.url("hosted").replace("//postgres@", "//host@"), systemClock));
}

describeOnEngines("a log-in that owns the database and may make roles", (engine) => {
  // Planted: membership by any right to a role. From PostgreSQL 16 on, who made a role has it without the right to become it.
  it("migrates, and then serves in roles that own nothing", async () => {
    const db = await openAsHost(engine);
    await migrateCloud(db, 1);
    for (const role of ["meter_app", "meter_lookup", "meter_accounts"]) {
      const became = await db.transaction().execute(async (trx) => {
        await sql`select set_config('role', ${role}, true)`.execute(trx);
        return (await sql<{ role: string }>`select current_user as role`.execute(trx)).rows;
      });
      assert.deepEqual(became, [{ role }]);
    }
    const { rows } = await inScope(db, {}, (trx) =>
      sql`select count(*)::integer as n from workspaces`.execute(trx),
    );
    assert.deepEqual(rows, [{ n: 0 }]);
    await db.destroy();
  });
});

describeOnPostgres("migrateCloud()", (engine) => {
  it("runs each step once when eight instances start together on an empty database", async () => {
    const server = engine.server();
    assert.ok(server !== null);
    const admin = await engine.open();
    await sql.raw("create database fresh template template0").execute(admin.db);
    await admin.close();
    const instances = Array.from({ length: 8 }, () => {
      return openCloudDatabase(openPostgres(server.url("fresh"), systemClock, { maxConnections: 1 }));
    });
    const ran = await Promise.all(instances.map((db) => migrateCloud(db, 1)));
    assert.deepEqual(
      ran.flat(),
      CLOUD_MIGRATIONS.map(({ name }) => name),
    );
    await Promise.all(instances.map((db) => db.destroy()));
  });
});
