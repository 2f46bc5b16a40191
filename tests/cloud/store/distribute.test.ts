import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { sql } from "kysely";
import { WorkerError } from "../../../cloud/store/cluster-node.ts";
import {
  DISTRIBUTED_TABLES,
  distributeCloud,
  distributeNewTables,
  distributionSql,
  readAllTotals,
} from "../../../cloud/store/distribute.ts";
import { CLOUD_MIGRATIONS, migrateCloud } from "../../../cloud/store/migrate.ts";
import { TABLE_PLACES } from "../../../cloud/store/table-places.ts";
import { loadParser } from "../../../tools/statement-parser.ts";
import { batch, type CloudRig, createRig, record } from "../kit/cloud-rig.ts";
import { describeOnPostgres } from "../kit/engines.ts";

describe("distributionSql()", () => {
  it("consists of valid statements", async () => {
    const parse = await loadParser();
    for (const statement of distributionSql()) parse(statement);
  });

  it("distributes each table of a workspace once, those that others refer to first", () => {
    const tables = distributionSql().flatMap(
      (text) => /create_distributed_table\('(\w+)'/.exec(text)?.[1] ?? [],
    );
    assert.equal(tables[0], "workspaces");
    assert.deepEqual(tables, DISTRIBUTED_TABLES);
    assert.ok(tables.indexOf("requests") < tables.indexOf("request_bodies"));
    assert.ok(tables.every((table) => (TABLE_PLACES as Record<string, string>)[table] === "distributed"));
  });
});

/** Functions and a table with the names of those of Citus, which record what is asked of them. */
const STAND_IN = [
  "create table pg_dist_partition (logicalrelid regclass, partmethod char)",
  "create table calls (call text)",
  `create function create_distributed_table(name text, col text, colocate_with text) returns void language sql as $$
    insert into pg_dist_partition values (name::regclass, 'h');
    insert into calls values (concat('distribute ', name, ' with ', colocate_with)) $$`,
  `create function truncate_local_data_after_distributing_table(name regclass) returns void language sql as $$
    insert into calls values (concat('truncate ', name)) $$`,
  `create function citus_add_local_table_to_metadata(name regclass, cascade_via_foreign_keys boolean) returns void language sql as $$
    insert into pg_dist_partition values (name, 'n');
    insert into calls values (concat('announce ', name)) $$`,
  `create function run_command_on_workers(command text) returns void language sql as $$
    insert into calls values ('workers') $$`,
];

// The stand-in does not move rows. It shows what the command asks of a cluster, in which order, and that it compares.
describeOnPostgres(
  "distributeCloud(), with a stand-in for Citus",
  (engine) => {
    let rig: CloudRig;
    const calls = async () => {
      const { rows } = await sql<{ call: string }>`select call from calls`.execute(rig.db);
      await sql`delete from calls`.execute(rig.db);
      return rows.map(({ call }) => call);
    };
    before(async () => {
      rig = await createRig(engine);
      const workspace = await rig.addWorkspace();
      const sent = batch(record(rig.uuid(), { prompt_tokens: 5 }), record(rig.uuid(), { prompt_tokens: 2 }));
      assert.equal((await rig.call("POST", "/v1/requests/batch", workspace.token, sent)).status, 200);
    });
    after(() => rig.close());

    it("changes nothing without the extension", async () => {
      assert.deepEqual(await distributeCloud(rig.db), { kind: "not_citus" });
      assert.equal(await distributeNewTables(rig.db), null);
      const { rows } = await sql<{ n: number }>`select count(*)::integer as n from pg_class
        where relforcerowsecurity and relname = 'requests'`.execute(rig.db);
      assert.deepEqual(rows, [{ n: 1 }]);
    });

    it("stops before it removes a row if a table's totals differ", async () => {
      for (const statement of STAND_IN) await sql.raw(statement).execute(rig.db);
      // A cluster that loses a row.
      await sql
        .raw(`create function lose() returns trigger language plpgsql as $$ begin
        if new.logicalrelid = 'requests'::regclass then
          delete from requests where prompt_tokens = 2; end if; return new; end $$`)
        .execute(rig.db);
      await sql`create trigger lose after insert on pg_dist_partition for each row execute function lose()`.execute(
        rig.db,
      );
      const outcome = await distributeCloud(rig.db);
      assert.ok(outcome.kind === "different");
      assert.equal(outcome.table, "requests");
      assert.deepEqual([outcome.before.prompt_tokens, outcome.after.prompt_tokens], ["7", "5"]);
      assert.ok((await calls()).every((call) => !call.startsWith("truncate")));
      await sql`drop trigger lose on pg_dist_partition`.execute(rig.db);
      // It stays so until the operator accepts the rows.
      assert.equal((await distributeNewTables(rig.db))?.kind, "different");
      await sql`drop table distribution_totals`.execute(rig.db);
      assert.equal((await distributeNewTables(rig.db))?.kind, "distributed");
      await calls();
    });

    it("distributes every table of a workspace, and removes its rows from the coordinator in the reverse order", async () => {
      await sql`delete from pg_dist_partition`.execute(rig.db);
      const expected = await readAllTotals(rig.db);
      const outcome = await distributeCloud(rig.db);
      assert.ok(outcome.kind === "distributed");
      assert.deepEqual(outcome.tables, DISTRIBUTED_TABLES);
      const accounts = ["people", "sessions", "credentials", "verifications"].map(
        (table) => `accounts.${table}`,
      );
      const atCoordinator = Object.entries(TABLE_PLACES).flatMap(([table, place]) =>
        place === "coordinator" ? [table] : [],
      );
      const announced = [...accounts, ...atCoordinator].map((table) => `announce ${table}`);
      for (const table of DISTRIBUTED_TABLES) assert.deepEqual(outcome.totals[table], expected[table], table);
      const seen = await calls();
      assert.deepEqual(seen.slice(0, -announced.length), [
        "workers",
        ...DISTRIBUTED_TABLES.map(
          (table) => `distribute ${table} with ${table === "workspaces" ? "none" : "workspaces"}`,
        ),
        ...[...DISTRIBUTED_TABLES].reverse().map((table) => `truncate ${table}`),
      ]);
      assert.deepEqual(seen.slice(-announced.length).sort(), announced.sort());
      const { rows } = await sql<{ name: string }>`select relname as name from pg_class
        where relforcerowsecurity and relname = any (${`{${DISTRIBUTED_TABLES.join(",")}}`}::text[])
        union all select tgname from pg_trigger where not tgisinternal`.execute(rig.db);
      assert.deepEqual(rows, []);
    });

    it("distributes only what is not distributed yet", async () => {
      await sql`delete from pg_dist_partition where logicalrelid = 'budgets'::regclass`.execute(rig.db);
      const outcome = await distributeNewTables(rig.db);
      assert.ok(outcome?.kind === "distributed");
      assert.deepEqual(outcome.tables, ["budgets"]);
      assert.deepEqual(await calls(), ["workers", "distribute budgets with workspaces", "truncate budgets"]);
    });

    it("makes a new table of the coordinator known to the workers", async () => {
      await sql`delete from pg_dist_partition where logicalrelid = 'tasks'::regclass`.execute(rig.db);
      assert.equal((await distributeNewTables(rig.db))?.kind, "distributed");
      assert.deepEqual(await calls(), ["workers", "announce tasks"]);
    });

    it("changes no schema through a worker", async () => {
      await sql`create table pg_dist_local_group (groupid integer)`.execute(rig.db);
      await sql`insert into pg_dist_local_group values (0)`.execute(rig.db);
      assert.equal((await distributeCloud(rig.db)).kind, "distributed");
      await sql`update pg_dist_local_group set groupid = 1`.execute(rig.db);
      assert.deepEqual(await migrateCloud(rig.db, 0), []);
      const newer = { name: "0099-newer", statements: ["create table colours (name text)"] };
      await assert.rejects(migrateCloud(rig.db, 0, [...CLOUD_MIGRATIONS, newer]), WorkerError);
      await assert.rejects(distributeCloud(rig.db), WorkerError);
      await sql`drop table pg_dist_local_group`.execute(rig.db);
    });

    it("serves the application as before", async () => {
      const workspace = await rig.addWorkspace();
      await sql`insert into workspace_directory select workspace_id, organisation_id from workspaces
        on conflict do nothing`.execute(rig.db);
      const sent = batch(record(rig.uuid(), { prompt_tokens: 5 }));
      assert.equal((await rig.call("POST", "/v1/requests/batch", workspace.token, sent)).status, 200);
    });
  },
  { ownServer: true },
);
