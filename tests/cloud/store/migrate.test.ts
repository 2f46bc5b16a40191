import assert from "node:assert/strict";
import { it } from "node:test";
import { sql } from "kysely";
import { systemClock } from "../../../adapters/clock/system-clock.ts";
import { openPostgres } from "../../../adapters/postgres/postgres-server.ts";
import { CLOUD_MIGRATIONS, migrateCloud } from "../../../cloud/store/migrate.ts";
import { DIRECTORY_TRIGGERS } from "../../../cloud/store/migrations/0021-directory.ts";
import { openCloudDatabase } from "../../../cloud/store/open-database.ts";
import { TABLE_PLACES } from "../../../cloud/store/table-places.ts";
import { inScope } from "../../../cloud/store/transaction.ts";
import { describeOnOneEngine, describeOnPostgres } from "../kit/engines.ts";
import { openAsLogins } from "../kit/logins.ts";

/** Tables without a tenant: those of organisations and of the whole server. Accounts have their own schema. */
const NOT_TENANT = Object.entries(TABLE_PLACES).flatMap(([table, place]) =>
  place === "coordinator" ? [table] : [],
);

describeOnOneEngine("the cloud's schema", (engine) => {
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

  it("creates a workspace on the Solo plan that stores no prompts and retains a year", async () => {
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
      purged_at: null,
      erased_rows: null,
      prompt_hash_key: null,
      prompts_erased_at: null,
      reporting_zone: "UTC",
    });
    await close();
  });

  it("has no triggers but those for servers of the previous version", async () => {
    const { db, close } = await engine.open();
    const { rows } = await sql<{ name: string; table: string }>`
      select tgname as name, tgrelid::regclass::text as "table" from pg_trigger t
      join pg_class c on c.oid = t.tgrelid and c.relnamespace = 'public'::regnamespace
      where not tgisinternal`.execute(db);
    const expected = engine.name === "citus" ? {} : DIRECTORY_TRIGGERS;
    assert.deepEqual(Object.fromEntries(rows.map(({ name, table }) => [name, table])), expected);
    await close();
  });

  it("gives the application's roles no ownership, no login and no bypass of row-level security", async () => {
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
    // The nodes of a cluster connect to each other as these.
    const onNodes = { ...none, rolcanlogin: engine.name === "citus" };
    assert.deepEqual(rows, [
      { rolname: "meter_accounts", ...onNodes },
      { rolname: "meter_app", ...onNodes },
      { rolname: "meter_lookup", ...onNodes },
      { rolname: "meter_purge", ...onNodes },
    ]);
    await close();
  });

  it("runs nothing the second time, and ignores the migrations of a newer version", async () => {
    const { owner: db, close } = await engine.open();
    const newer = { name: "0099-newer", statements: ["alter table machines add column colour text"] };
    assert.deepEqual(await migrateCloud(db, 1, [...CLOUD_MIGRATIONS, newer]), ["0099-newer"]);
    assert.deepEqual(await migrateCloud(db, 2), []);
    await close();
  });

  it("runs all steps or none", async () => {
    const { owner: db, close } = await engine.open();
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

describeOnOneEngine(
  "a log-in that owns the database and may make roles",
  (engine) => {
    // Planted: membership by any right to a role. From PostgreSQL 16 on, the creator of a role is a member without becoming it.
    it("migrates, and then serves in roles that own nothing", async () => {
      const { owner: db, close } = await openAsLogins(engine, "one");
      for (const role of ["meter_app", "meter_lookup", "meter_accounts", "meter_purge"]) {
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
      await close();
    });
  },
  { ownServer: true },
);

describeOnOneEngine(
  "machines from before they had a person",
  (engine) => {
    const WORKSPACE = "0193a1b2-0000-7000-8000-000000000001";
    const [MACHINE, KEYLESS] = [
      "0193a1b2-0000-7000-8000-00000000000a",
      "0193a1b2-0000-7000-8000-00000000000b",
    ];

    it("belong to the person of their latest key, even if row-level security applies to the migrating role", async () => {
      const at = CLOUD_MIGRATIONS.findIndex(({ name }) => name === "0006-machine-people");
      const { owner: db, close } = await openAsLogins(engine, "one", CLOUD_MIGRATIONS.slice(0, at));
      const key = (id: string, user: string, created: string, revoked: string | null) =>
        `insert into sync_keys values ('${WORKSPACE}', '0193a1b2-0000-7000-8000-0000000000${id}', '\\x${id}', 'mtr_', 'sync',
        '${MACHINE}', '${user}', '${created}', ${revoked === null ? "null" : `'${revoked}'`})`;
      await inScope(db, { workspaceId: WORKSPACE }, async (trx) => {
        for (const statement of [
          `insert into workspaces (workspace_id, organisation_id, name, created_at)
          values ('${WORKSPACE}', '${WORKSPACE}', 'n', now())`,
          ...[MACHINE, KEYLESS].map(
            (
              id,
              nth,
            ) => `insert into machines (workspace_id, machine_id, fingerprint, hostname, platform, daemon_version, created_at)
            values ('${WORKSPACE}', '${id}', 'f${nth}', 'h', 'p', 'v', now())`,
          ),
          key("1a", "ann", "2026-01-01", "2026-01-02"),
          key("1b", "ben", "2026-01-02", null),
        ]) {
          await sql.raw(statement).execute(trx);
        }
      });
      await migrateCloud(db, 2);
      const read = (trx: Parameters<Parameters<typeof inScope>[2]>[0]) =>
        trx
          .selectFrom("machines")
          .select(["machine_id", "user_id", "approved_by"])
          .orderBy("machine_id")
          .execute();
      assert.deepEqual(await inScope(db, { workspaceId: WORKSPACE }, read), [
        { machine_id: MACHINE, user_id: "ben", approved_by: "ben" },
        { machine_id: KEYLESS, user_id: null, approved_by: null },
      ]);
      // The policies apply to the owner again.
      assert.deepEqual(await db.transaction().execute(read), []);
      await close();
    });
  },
  { ownServer: true },
);

describeOnPostgres("migrateCloud()", (engine) => {
  it("runs each step once when eight instances start together on an empty database", async () => {
    const { url, close } = await engine.openEmpty();
    const instances = Array.from({ length: 8 }, () => {
      return openCloudDatabase(openPostgres(String(url), systemClock, { maxConnections: 1 }));
    });
    const ran = await Promise.all(instances.map((db) => migrateCloud(db, 1)));
    assert.deepEqual(
      ran.flat(),
      CLOUD_MIGRATIONS.map(({ name }) => name),
    );
    await Promise.all(instances.map((db) => db.destroy()));
    await close();
  });
});
