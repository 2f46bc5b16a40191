import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { setTimeout as delay } from "node:timers/promises";
import { sql } from "kysely";
import { systemClock } from "../../adapters/clock/system-clock.ts";
import { openPostgres } from "../../adapters/postgres/postgres-server.ts";
import { distributeCloud } from "../../cloud/store/distribute.ts";
import { migrateCloud } from "../../cloud/store/migrate.ts";
import { openCloudDatabase } from "../../cloud/store/open-database.ts";
import { runCloudWords } from "../cli/meter-cloud/run-cloud-command.rig.ts";
import {
  type ClusterNode,
  createClusterDatabase,
  createNodeDatabase,
  dropClusterDatabase,
  dropNodeDatabase,
  onNode,
  readNodes,
  urlOf,
} from "../cloud/kit/citus-cluster.ts";
import { type CloudProcess, startCloudProcess } from "../cloud/kit/cloud-process.ts";
import { newDatabaseName } from "../cloud/kit/engines.ts";
import { addSenders } from "../cloud/kit/senders.ts";
import { createSeededRandom, type SeededRandom } from "../simulation/seeded-random.ts";
import {
  areExpected,
  countBatches,
  type Difference,
  findDifference,
  type Sent,
  sendBatches,
  type Traffic,
} from "./batch-traffic.ts";

/** What happens to the cluster. */
export const EVENTS = [
  "add_worker",
  "kill_worker",
  "kill_coordinator",
  "move_shard",
  "isolate",
  "back_up",
] as const;
export type ClusterEvent = (typeof EVENTS)[number];

/** The options of a run. */
export interface ClusterChaos {
  /** The coordinator, as a superuser. */
  readonly url: string;
  readonly rounds: number;
  readonly seed: string;
  readonly events: readonly ClusterEvent[];
  readonly workspaces: number;
  /** Shell commands that end a node at once and start it again; NODE_HOST and NODE_PORT name it. Null: nodes are not killed. */
  readonly kill: string | null;
  readonly start: string | null;
  /** A node that is not part of the cluster yet, for `add_worker`. */
  readonly spare: ClusterNode | null;
}

/** The result of a run. */
export interface ClusterResult {
  readonly seed: string;
  readonly events: Readonly<Partial<Record<ClusterEvent, number>>>;
  /** Events that the cluster refused, with its message. */
  readonly refused: readonly string[];
  /** Records whose batch was answered 200. */
  readonly acknowledged: number;
  /** The nodes that a process of the cloud was connected to. */
  readonly through: readonly string[];
  /** By event: batches that were acknowledged while the killed node was down. */
  readonly whileDown: Readonly<Partial<Record<ClusterEvent, number>>>;
  /** Answers by status; 0: no answer. */
  readonly answers: Readonly<Record<string, number>>;
  /** Acknowledged records that are not stored. Must be 0. */
  readonly missing: number;
  /** Stored rows that were not sent, or are stored twice. Must be 0. */
  readonly surplus: number;
  /** Backups that were restored on the cluster, each with the rows, sums and ledgers that it had, and distributed again. */
  readonly restored: number;
  /** Workspaces whose records, seals and rollups differ, and backups that could not be restored. Must be empty. */
  readonly faults: readonly string[];
  /** The longest time that a machine waited for an acknowledgement, milliseconds. */
  readonly longestWaitMs: number;
}

/** Machines of each workspace. */
const MACHINES = 2;
/** The longest time between two events, milliseconds. */
const CALM_MS = 4_000;
/** How long a killed node is down, milliseconds. */
const DOWN_MS = 1_500;

/** How often a node is started, once a second, until it starts. */
const START_ATTEMPTS = 30;

/** A process of the cloud, and the node that it is connected to. */
interface ConnectedCloud {
  readonly node: string;
  readonly cloud: CloudProcess;
}

/** Batches go to all processes of the cloud. */
interface ClusterTraffic extends Traffic {
  readonly clouds: ConnectedCloud[];
}

/** Whether every acknowledged record is stored once, and every total is the sum of its records. */
export function isExact({ missing, surplus, faults, acknowledged, answers }: ClusterResult): boolean {
  return missing === 0 && surplus === 0 && faults.length === 0 && acknowledged > 0 && areExpected(answers);
}

/**
 * Runs a process of the cloud for each node of a distributed database, lets machines send batches as daemons do, each to any of the
 * processes, and lets things happen to the cluster. Then every batch is sent until it is acknowledged, and what is stored is compared with what was acknowledged.
 */
export async function runClusterChaos(
  chaos: ClusterChaos,
  tell: (line: string) => void,
): Promise<ClusterResult> {
  const random = createSeededRandom(chaos.seed);
  const name = newDatabaseName();
  const url = await createClusterDatabase(chaos.url, name);
  const db = openCloudDatabase(openPostgres(url, systemClock, { statementTimeoutMs: 0 }));
  await migrateCloud(db, Date.now());
  const outcome = await distributeCloud(db);
  if (outcome.kind !== "distributed") throw new Error(`the cluster can't be used: ${outcome.kind}`);
  // The look-ups of sent records use connections that know the database's settings.
  await db.destroy();
  const owner = openCloudDatabase(openPostgres(url, systemClock, { statementTimeoutMs: 0 }));
  const tenants: Sent[] = [];
  for (let at = 0; at < chaos.workspaces; at += 1) {
    tenants.push({ ...(await addSenders(owner, MACHINES, Date.now())), acknowledged: new Set() });
  }
  await owner.destroy();
  const traffic: ClusterTraffic = {
    ...{ isOver: false, clouds: [], urls: [], answers: {} },
    ...{ acknowledgedBatches: {}, longestWaitMs: 0 },
  };
  const counts: Partial<Record<ClusterEvent, number>> = {};
  const whileDown: Partial<Record<ClusterEvent, number>> = {};
  const refused: string[] = [];
  const backups = mkdtempSync(join(tmpdir(), "meter-cluster-backups-"));
  try {
    for (const node of await readNodes(url)) await connect(traffic, url, node);
    const senders = tenants.flatMap((sent, at) =>
      sent.senders.map((sender, machine) =>
        sendBatches(sender, sent, traffic, createSeededRandom(`${chaos.seed} ${at} ${machine}`)),
      ),
    );
    for (let round = 1; round <= chaos.rounds; round += 1) {
      await delay(random.integer(500, CALM_MS));
      const possible = chaos.events.filter(
        (each) => each !== "add_worker" || counts.add_worker === undefined,
      );
      const event = possible[(round - 1) % possible.length] as ClusterEvent;
      const tenant = random.pick(tenants);
      const target = join(backups, `${round}`);
      const error = await happen(event, chaos, url, tenant.workspaceId, random, traffic, target).then(
        (acknowledged) => {
          if (acknowledged !== null) whileDown[event] = (whileDown[event] ?? 0) + acknowledged;
        },
        describeError,
      );
      if (typeof error === "string") refused.push(`${event}: ${error}`);
      else counts[event] = (counts[event] ?? 0) + 1;
      const sum = tenants.reduce((total, { acknowledged }) => total + acknowledged.size, 0);
      tell(
        `round ${round}: ${event}${typeof error === "string" ? ` refused: ${error}` : ""}; ${sum} records`,
      );
    }
    await delay(CALM_MS);
    traffic.isOver = true;
    await Promise.all(senders);
    tell("every batch is acknowledged; comparing");
    const compared = await compare(url, tenants);
    const unrestored = await restoreAll(chaos.url, backups);
    return {
      seed: chaos.seed,
      events: counts,
      refused,
      acknowledged: tenants.reduce((total, { acknowledged }) => total + acknowledged.size, 0),
      ...{ through: traffic.clouds.map(({ node }) => node), whileDown, answers: traffic.answers },
      ...{ ...compared, faults: [...compared.faults, ...unrestored] },
      restored: readdirSync(backups).length - unrestored.length,
      longestWaitMs: Math.round(traffic.longestWaitMs),
    };
  } finally {
    traffic.isOver = true;
    for (const { cloud } of traffic.clouds) await cloud.end("SIGKILL");
    rmSync(backups, { recursive: true });
    if (chaos.spare !== null) await dropNodeDatabase(chaos.url, chaos.spare, name).catch(() => {});
    await dropClusterDatabase(chaos.url, name).catch(() => {});
  }
}

/** Starts a process of the cloud that is connected to one node of the database, and sends batches to it. */
async function connect(traffic: ClusterTraffic, url: string, node: ClusterNode): Promise<void> {
  const env = {
    DATABASE_URL: urlOf(url, node),
    METER_CLOUD_DATABASE_MIGRATE: "false",
    METER_CLOUD_LIMITS_KEY_PER_MINUTE: "1000000",
  };
  const cloud = await startCloudProcess({ env });
  traffic.clouds.push({ node: `${node.host}:${node.port}`, cloud });
  traffic.urls.push(cloud.url);
}

/** Lets one event happen, and returns when it is over: if a node was killed, the batches that were acknowledged while it was down. */
async function happen(
  event: ClusterEvent,
  { url: server, kill, start, spare }: ClusterChaos,
  url: string,
  workspaceId: string,
  random: SeededRandom,
  traffic: ClusterTraffic,
  backup: string,
): Promise<number | null> {
  const nodes = await readNodes(url);
  const workers = nodes.filter(({ isCoordinator }) => !isCoordinator);
  switch (event) {
    case "kill_worker":
    case "kill_coordinator": {
      if (kill === null || start === null) throw new Error("no commands kill and start nodes");
      const node = event === "kill_worker" ? random.pick(workers) : nodes[0];
      if (node === undefined) throw new Error("the cluster has no such node");
      await runCommand(kill, node);
      const before = countBatches(traffic);
      await delay(DOWN_MS);
      const acknowledged = countBatches(traffic) - before;
      await startAgain(start, node);
      return acknowledged;
    }
    case "move_shard":
      await onNode(url, async (db) => {
        const { rows } = await sql<{ shardid: string; nodename: string; nodeport: number }>`
          select s.shardid::text, s.nodename, s.nodeport from citus_shards s
          where s.table_name = 'workspaces'::regclass
            and s.shardid = get_shard_id_for_distribution_column('workspaces', ${workspaceId}::uuid)`.execute(
          db,
        );
        const [shard] = rows;
        const target = workers.find(({ host, port }) => host !== shard?.nodename || port !== shard?.nodeport);
        if (shard === undefined || target === undefined) throw new Error("no other worker");
        const mode = random.pick(["force_logical", "block_writes"]);
        await sql`select citus_move_shard_placement(${shard.shardid}::bigint, ${shard.nodename}, ${shard.nodeport}::integer,
          ${target.host}, ${target.port}::integer, shard_transfer_mode => ${mode}::text::citus.shard_transfer_mode)`.execute(
          db,
        );
      });
      return null;
    case "add_worker": {
      if (spare === null) throw new Error("there is no node to add");
      const { host, port } = spare;
      await createNodeDatabase(server, spare, new URL(url).pathname.slice(1));
      await onNode(url, async (db) => {
        await sql`select citus_add_node(${host}, ${port}::integer)`.execute(db);
        await sql`select citus_rebalance_start()`.execute(db);
        await sql`select citus_rebalance_wait()`.execute(db);
      });
      await connect(traffic, url, spare);
      return null;
    }
    case "isolate":
      await onNode(url, async (db) => {
        await sql`select isolate_tenant_to_new_shard('workspaces', ${workspaceId}::uuid, 'CASCADE',
          shard_transfer_mode => 'block_writes')`.execute(db);
      });
      return null;
    case "back_up":
      await runCloud(["backup", backup], url, backup);
      return null;
  }
}

/** Runs a command of `meter-cloud` on a database. */
async function runCloud(words: readonly string[], url: string, backup: string): Promise<void> {
  const env = { DATABASE_URL: url, METER_CLOUD_HOME: `${backup}.home` };
  const { code, stderr } = await runCloudWords(words, env);
  rmSync(env.METER_CLOUD_HOME, { recursive: true, force: true });
  if (code !== 0) throw new Error(`meter-cloud ${words[0]} ended with ${code}: ${stderr}`);
}

/** Restores each backup into a new database on the cluster, which verifies it, and distributes it. Returns what failed. */
async function restoreAll(server: string, backups: string): Promise<readonly string[]> {
  const failed: string[] = [];
  for (const round of readdirSync(backups)) {
    const backup = join(backups, round);
    const name = newDatabaseName();
    const url = await createClusterDatabase(server, name);
    try {
      await runCloud(["restore", backup, "--without-withdrawals"], url, backup);
      await runCloud(["migrate", "--distribute"], url, backup);
    } catch (error) {
      failed.push(`the backup of round ${round}: ${describeError(error)}`);
    }
    await dropClusterDatabase(server, name).catch(() => {});
  }
  return failed;
}

/** Starts a node. That fails while processes of the killed one still end. */
async function startAgain(command: string, node: ClusterNode): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await runCommand(command, node);
    } catch (error) {
      if (attempt === START_ATTEMPTS) throw error;
      await delay(1_000);
    }
  }
}

async function runCommand(command: string, { host, port }: ClusterNode): Promise<void> {
  const env = { ...process.env, NODE_HOST: host, NODE_PORT: String(port) };
  const child = spawn("sh", ["-c", command], { env, stdio: "ignore" });
  const [code] = (await once(child, "exit")) as [number | null];
  if (code !== 0) throw new Error(`the command for ${host}:${port} ended with ${code}: ${command}`);
}

function describeError(reason: unknown): string {
  const cause = reason instanceof Error && reason.cause instanceof Error ? reason.cause : reason;
  return cause instanceof Error ? cause.message : String(cause);
}

/** Compares what is stored with what was acknowledged, in all shards together too. */
async function compare(url: string, tenants: readonly Sent[]): Promise<Difference> {
  return await onNode(url, async (db) => {
    const difference = await findDifference(db, tenants);
    const { rows } = await sql<{ n: string }>`select count(*)::text as n from requests`.execute(db);
    const sum = tenants.reduce((total, { acknowledged }) => total + acknowledged.size, 0);
    if (Number(rows[0]?.n) === sum) return difference;
    const fault = `${rows[0]?.n} rows in all shards, ${sum} acknowledged`;
    return { ...difference, faults: [...difference.faults, fault] };
  });
}
