import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { type CompiledQuery, type DatabaseConnection, sql } from "kysely";
import { systemClock } from "../../../adapters/clock/system-clock.ts";
import { openPostgres } from "../../../adapters/postgres/postgres-server.ts";
import {
  DISTRIBUTED_TABLES,
  distributeCloud,
  distributeNewTables,
  readAllTotals,
} from "../../../cloud/store/distribute.ts";
import { CLOUD_MIGRATIONS, migrateCloud } from "../../../cloud/store/migrate.ts";
import { type CloudDatabase, openCloudDatabase } from "../../../cloud/store/open-database.ts";
import { TABLE_PLACES } from "../../../cloud/store/table-places.ts";
import { changedDialect } from "../kit/changed-engine.ts";
import { createClusterDatabase, dropClusterDatabase } from "../kit/citus-cluster.ts";
import { batch, createRig, json, record } from "../kit/cloud-rig.ts";
import { CITUS_URL, newDatabaseName } from "../kit/engines.ts";

/** After which statement a process dies, once. */
interface Death {
  after: RegExp | null;
}

/** A process that dies: the statement is executed, and nothing after it. */
function openDying(url: string, death: Death): CloudDatabase {
  const opened = openPostgres(url, systemClock, {});
  const dialect = changedDialect(opened.dialect, (driver) => ({
    acquireConnection: async (): Promise<DatabaseConnection> => {
      const inner = await driver.acquireConnection();
      const run = inner.executeQuery.bind(inner);
      inner.executeQuery = async <R>(query: CompiledQuery) => {
        const result = await run<R>(query);
        if (death.after?.test(query.sql) !== true) return result;
        inner.executeQuery = run;
        throw new Error("the process died");
      };
      return inner;
    },
  }));
  return openCloudDatabase({ ...opened, dialect });
}

const WORK = Array.from({ length: 12 }, (_, at) => ({ prompt_tokens: at, cost_usd: "0.25" }));

const missing = CITUS_URL === null ? ": NOT TESTED: METER_TEST_CITUS_URL names no cluster" : "";
describe(`distributeCloud() on Citus${missing}`, { skip: missing !== "" }, () => {
  const names: string[] = [];
  let url: string;
  let db: CloudDatabase;

  /** A migrated database on every node, which is not distributed. */
  async function open(): Promise<void> {
    const name = newDatabaseName();
    names.push(name);
    url = await createClusterDatabase(String(CITUS_URL), name);
    db = openCloudDatabase(openPostgres(url, systemClock, {}));
    await migrateCloud(db, 0);
  }

  /** Fills it as a server of a single machine does. */
  async function grow(): Promise<void> {
    const database = openPostgres(url, systemClock, {});
    const grown = openCloudDatabase(database);
    const rig = await createRig({
      open: async () => ({ db: grown, owner: grown, database, url, close: () => grown.destroy() }),
    });
    for (let at = 0; at < 5; at += 1) {
      const workspace = await rig.addWorkspace();
      const sent = batch(...WORK.map((fields) => record(rig.uuid(), fields)));
      const answer = await rig.call("POST", "/v1/requests/batch", workspace.token, sent);
      assert.equal((await json(answer)).accepted, WORK.length);
    }
    await rig.close();
  }

  /** The bytes that distributed tables still have on the coordinator. */
  async function localBytes(): Promise<number> {
    const { rows } = await sql<{ bytes: number }>`
      select sum(pg_relation_size(logicalrelid))::integer as bytes from pg_dist_partition where partmethod = 'h'`.execute(
      db,
    );
    return Number(rows[0]?.bytes);
  }

  before(open);
  after(async () => {
    await db.destroy();
    for (const name of names) await dropClusterDatabase(String(CITUS_URL), name);
  });

  it("distributes an empty database, for two processes that ask at once", async () => {
    const [one, other] = await Promise.all([distributeCloud(db), distributeCloud(db)]);
    assert.ok(one.kind === "distributed" && other.kind === "distributed");
    assert.deepEqual([...one.tables, ...other.tables], DISTRIBUTED_TABLES);
    const again = await distributeNewTables(db);
    assert.deepEqual(again, { kind: "distributed", tables: [], totals: {} });
  });

  it("migrates a distributed database, and distributes a table that is not yet", async () => {
    const statements = [
      "alter table requests add column tested integer",
      "create index requests_tested on requests (workspace_id, tested)",
    ];
    const later = [...CLOUD_MIGRATIONS, { name: "9999-test", statements }];
    assert.deepEqual(await migrateCloud(db, 0, later), ["9999-test"]);
    await sql`select undistribute_table('saved_views')`.execute(db);
    const found = await distributeNewTables(db);
    assert.ok(found?.kind === "distributed");
    assert.deepEqual(found.tables, ["saved_views"]);
  });

  it("moves every row of a grown database, wherever it is interrupted", async () => {
    await db.destroy();
    await open();
    await grow();
    const expected = await readAllTotals(db);
    assert.deepEqual(expected.requests?.rows, String(5 * WORK.length));
    const last = DISTRIBUTED_TABLES.at(-1);
    const death: Death = { after: null };
    const dying = openDying(url, death);
    for (const after of [
      /alter role meter_lookup/,
      /create table if not exists/,
      /create_distributed_table\('workspaces'/,
      /create_distributed_table\('requests'/,
      /insert into "distribution_totals"/,
      new RegExp(`create_distributed_table\\('${last}'`),
      new RegExp(`truncate_local_data_after_distributing_table\\('${last}'`),
      /truncate_local_data_after_distributing_table\('requests'/,
      /truncate_local_data_after_distributing_table\('workspaces'/,
      /drop table distribution_totals/,
    ]) {
      death.after = after;
      await assert.rejects(distributeCloud(dying), /the process died/, String(after));
      assert.deepEqual(await readAllTotals(db), expected, String(after));
    }
    death.after = null;
    assert.ok((await localBytes()) === 0);
    assert.equal((await distributeNewTables(dying))?.kind, "distributed");
    await dying.destroy();
    assert.deepEqual(await readAllTotals(db), expected);
    const { rows } = await sql<{ n: number }>`select count(*)::integer as n from pg_dist_partition p
      where partmethod = 'h'`.execute(db);
    assert.equal(rows[0]?.n, DISTRIBUTED_TABLES.length);
    const { rows: announced } = await sql<{
      n: number;
    }>`select count(*)::integer as n from pg_dist_partition p
      where partmethod = 'n' and not logicalrelid::text like 'accounts.%'`.execute(db);
    const places = Object.values(TABLE_PLACES).filter((place) => place === "coordinator");
    assert.equal(announced[0]?.n, places.length);
    const { rows: left } = await sql`select 1 where to_regclass('distribution_totals') is not null`.execute(
      db,
    );
    assert.deepEqual(left, []);
  });

  it("finds a difference that came after an interruption", async () => {
    await db.destroy();
    await open();
    await grow();
    const death: Death = { after: /create_distributed_table\('requests'/ };
    const dying = openDying(url, death);
    await assert.rejects(distributeCloud(dying), /the process died/);
    await dying.destroy();
    await sql`delete from usage_daily`.execute(db);
    await sql`update requests set prompt_tokens = prompt_tokens + 1`.execute(db);
    const outcome = await distributeCloud(db);
    assert.ok(outcome.kind === "different");
    assert.equal(outcome.table, "requests");
    assert.ok((await localBytes()) > 0);
  });
});
