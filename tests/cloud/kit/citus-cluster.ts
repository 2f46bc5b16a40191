import { sql } from "kysely";
import { systemClock } from "../../../adapters/clock/system-clock.ts";
import { openPostgres } from "../../../adapters/postgres/postgres-server.ts";
import { type CloudDatabase, openCloudDatabase } from "../../../cloud/store/open-database.ts";

/** A node of a cluster. */
export interface ClusterNode {
  readonly host: string;
  readonly port: number;
  readonly isCoordinator: boolean;
}

/** Creates a database with the extension on every node of the cluster that a URL names, and joins them. Returns its URL. */
export async function createClusterDatabase(url: string, name: string): Promise<string> {
  const nodes = await readNodes(url);
  for (const node of nodes) await createNodeDatabase(url, node, name);
  const made = new URL(url);
  made.pathname = `/${name}`;
  await onNode(made.href, async (db) => {
    for (const { host, port, isCoordinator } of nodes) {
      const join = isCoordinator
        ? sql`select citus_set_coordinator_host(${host}, ${port}::integer)`
        : sql`select citus_add_node(${host}, ${port}::integer)`;
      await join.execute(db);
    }
  });
  return made.href;
}

/** Creates the database with the extension on one node. */
export async function createNodeDatabase(url: string, node: ClusterNode, name: string): Promise<void> {
  await onNode(urlOf(url, node), (db) => sql.raw(`create database ${name}`).execute(db));
  await onNode(urlOf(url, node, name), (db) => sql`create extension citus`.execute(db));
}

/** Drops the database on one node. */
export async function dropNodeDatabase(url: string, node: ClusterNode, name: string): Promise<void> {
  await onNode(urlOf(url, node), (db) => sql.raw(`drop database ${name} with (force)`).execute(db));
}

/** Drops such a database on every node. */
export async function dropClusterDatabase(url: string, name: string): Promise<void> {
  for (const node of await readNodes(url)) await dropNodeDatabase(url, node, name);
}

/** Lists the nodes, the coordinator first, by the addresses at which they reach each other. */
export async function readNodes(url: string): Promise<readonly ClusterNode[]> {
  const { rows } = await onNode(url, (db) =>
    sql<ClusterNode>`select nodename as host, nodeport as port, groupid = 0 as "isCoordinator"
      from pg_dist_node where isactive order by groupid`.execute(db),
  );
  if (rows[0]?.isCoordinator === true) return rows;
  const { hostname, port } = new URL(url);
  return [{ host: hostname, port: Number(port || 5432), isCoordinator: true }, ...rows];
}

/** The URL of a node: as another, of the same database unless one is named. */
export function urlOf(url: string, { host, port }: ClusterNode, database?: string): string {
  const node = new URL(url);
  node.hostname = host;
  node.port = String(port);
  if (database !== undefined) node.pathname = `/${database}`;
  return node.href;
}

/** Runs work on a connection of its own. */
export async function onNode<T>(url: string, work: (db: CloudDatabase) => Promise<T>): Promise<T> {
  const db = openCloudDatabase(openPostgres(url, systemClock, { maxConnections: 1, statementTimeoutMs: 0 }));
  try {
    return await work(db);
  } finally {
    await db.destroy();
  }
}
