import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { sql } from "kysely";
import { systemClock } from "../../../adapters/clock/system-clock.ts";
import { openPostgres } from "../../../adapters/postgres/postgres-server.ts";
import { distributeCloud } from "../../../cloud/store/distribute.ts";
import { migrateCloud } from "../../../cloud/store/migrate.ts";
import { openCloudDatabase } from "../../../cloud/store/open-database.ts";
import { inScope } from "../../../cloud/store/transaction.ts";
import {
  type ClusterNode,
  createClusterDatabase,
  dropClusterDatabase,
  onNode,
  readNodes,
  urlOf,
} from "../kit/citus-cluster.ts";
import { CITUS_URL, newDatabaseName } from "../kit/engines.ts";
import { addSenders } from "../kit/senders.ts";

const nodes = CITUS_URL === null ? [] : await readNodes(CITUS_URL);
const missing =
  nodes.length < 4 ? ": NOT TESTED: METER_TEST_CITUS_URL names no cluster of three workers" : "";
describe(`a workspace that moves while a transaction reads and writes${missing}`, {
  skip: missing !== "",
}, () => {
  const name = newDatabaseName();
  let url: string;
  before(async () => {
    url = await createClusterDatabase(String(CITUS_URL), name);
    await onNode(url, async (db) => {
      await migrateCloud(db, 0);
      assert.equal((await distributeCloud(db)).kind, "distributed");
    });
  });
  after(() => dropClusterDatabase(String(CITUS_URL), name));

  for (const mode of ["block_writes", "force_logical"]) {
    it(`keeps what is written through a node that has it neither before nor after (${mode})`, async () => {
      const { workspaceId } = await onNode(url, (db) => addSenders(db, 1, 0));
      const workers = nodes.filter(({ isCoordinator }) => !isCoordinator);
      const source = await placeOf(url, workspaceId);
      const [target, third] = workers.filter(
        ({ port, host }) => port !== source.port || host !== source.host,
      );
      assert.ok(target !== undefined && third !== undefined);
      const db = openCloudDatabase(openPostgres(urlOf(url, third), systemClock, { statementTimeoutMs: 0 }));
      try {
        const moved = { isOver: false };
        const move = await inScope(db, { workspaceId, readsThenWrites: true }, async (trx) => {
          await trx.selectFrom("workspaces").select("name").where("workspace_id", "=", workspaceId).execute();
          const moving = moveTo(url, source, target, mode).finally(() => {
            moved.isOver = true;
          });
          moving.catch(() => {});
          while (!moved.isOver && !(await isLockAwaited(urlOf(url, third)))) await delay(20);
          await trx
            .updateTable("workspaces")
            .set({ name: "renamed" })
            .where("workspace_id", "=", workspaceId)
            .execute();
          return { moving };
        });
        await move.moving;
        const { port } = await placeOf(url, workspaceId);
        assert.equal(port, target.port);
        const rows = await onNode(url, (owner) =>
          owner.selectFrom("workspaces").select("name").where("workspace_id", "=", workspaceId).execute(),
        );
        assert.deepEqual(rows, [{ name: "renamed" }]);
      } finally {
        await db.destroy();
      }
    });
  }
});

interface Place extends Pick<ClusterNode, "host" | "port"> {
  readonly shard: string;
}

async function placeOf(url: string, workspaceId: string): Promise<Place> {
  const { rows } = await onNode(url, (db) =>
    sql<Place>`select shardid::text as shard, nodename as host, nodeport as port from citus_shards
      where table_name = 'workspaces'::regclass
        and shardid = get_shard_id_for_distribution_column('workspaces', ${workspaceId}::uuid)`.execute(db),
  );
  return rows[0] as Place;
}

async function moveTo(
  url: string,
  { shard, host, port }: Place,
  target: ClusterNode,
  mode: string,
): Promise<void> {
  await onNode(url, (db) =>
    sql`select citus_move_shard_placement(${shard}::bigint, ${host}, ${port}::integer, ${target.host},
      ${target.port}::integer, shard_transfer_mode => ${mode}::text::citus.shard_transfer_mode)`.execute(db),
  );
}

/** Whether something waits for a lock in the database of a node. */
async function isLockAwaited(url: string): Promise<boolean> {
  const { rows } = await onNode(url, (db) =>
    sql`select 1 from pg_locks l join pg_database d on d.oid = l.database
      where not l.granted and d.datname = current_database()`.execute(db),
  );
  return rows.length > 0;
}
