import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { pathToFileURL } from "node:url";
import { systemClock } from "../../adapters/clock/system-clock.ts";
import { openPostgres } from "../../adapters/postgres/postgres-server.ts";
import type { verifyWorkspaceLedgers } from "../../cloud/ledger/verify-ledgers.ts";
import { listUnsummedDays } from "../../cloud/store/branch-sums.ts";
import { migrateCloud } from "../../cloud/store/migrate.ts";
import { hasModelSums, sumModels } from "../../cloud/store/model-sums.ts";
import { type CloudDatabase, openCloudDatabase } from "../../cloud/store/open-database.ts";
import { inScope } from "../../cloud/store/transaction.ts";
import { DAY_MS } from "../../core/values/time.ts";
import { type CloudProcess, cloudEnvironment, startCloudProcess } from "../cloud/kit/cloud-process.ts";
import { startPostgres } from "../cloud/kit/postgres-server.ts";
import type { addSenders } from "../cloud/kit/senders.ts";
import { waitFor } from "../end-to-end/meter-process.rig.ts";
import { root } from "../project/source-files.rig.ts";
import { createSeededRandom, type SeededRandom } from "../simulation/seeded-random.ts";
import {
  areExpected,
  type Difference,
  findDifference,
  type Sent,
  sendBatches,
  type Traffic,
} from "./batch-traffic.ts";

/** The options of a run. */
export interface UpdateChaos {
  /** The commit of the former version. */
  readonly from: string;
  /** How often a process is replaced. */
  readonly rounds: number;
  readonly seed: string;
  readonly workspaces: number;
}

/** The versions of a run: that of the earlier commit, and this one. */
type Version = "former" | "present";

/** The result of a run. */
export interface UpdateResult extends Difference {
  readonly seed: string;
  readonly from: string;
  /** The migrations that ran under load. */
  readonly migrations: readonly string[];
  /** Processes of each version that replaced another, and whose batches were acknowledged. */
  readonly replacements: Readonly<Record<Version, number>>;
  /** Batches that each version acknowledged. */
  readonly batches: Readonly<Record<Version, number>>;
  /** Records whose batch was answered 200. */
  readonly acknowledged: number;
  /** Answers by status; 0: no answer. */
  readonly answers: Readonly<Record<string, number>>;
  readonly longestWaitMs: number;
}

/** Machines of each workspace. */
const MACHINES = 2;

/** Processes of the cloud. */
const PROCESSES = 2;

/** The batches that each process acknowledges between two events. */
const BATCHES = 20;

/** Whether nothing was lost or stored twice, every total is the sum of its records, and both versions stored batches. */
export const isExact = (result: UpdateResult): boolean =>
  result.missing === 0 &&
  result.surplus === 0 &&
  result.faults.length === 0 &&
  Math.min(result.batches.former, result.batches.present) > 0 &&
  areExpected(result.answers);

/** A process of the cloud, and its version. */
interface Running {
  readonly version: Version;
  readonly cloud: CloudProcess;
}

/** What a run works with. */
interface Update {
  readonly random: SeededRandom;
  /** The folder of the former version. */
  readonly former: string;
  readonly env: Readonly<Record<string, string>>;
  readonly db: CloudDatabase;
  readonly tenants: Sent[];
  readonly traffic: Traffic;
  readonly running: Running[];
  readonly versions: Map<string, Version>;
}

/**
 * Runs two processes of an earlier version on one database, migrates it to this version under load, and then replaces one process after
 * another by either version. At the end, both are of this version. Compares what is stored with what was acknowledged, by the code of both
 * versions.
 */
export async function runUpdateChaos(
  { from, rounds, seed, workspaces }: UpdateChaos,
  tell: (line: string) => void,
): Promise<UpdateResult> {
  const former = checkOut(from);
  const server = await startPostgres(true);
  const url = server.url("postgres");
  const db = openCloudDatabase(openPostgres(url, systemClock, { statementTimeoutMs: 0 }));
  const update: Update = {
    ...{ former, db, tenants: [], running: [], versions: new Map() },
    random: createSeededRandom(seed),
    env: {
      DATABASE_URL: url,
      METER_CLOUD_DATABASE_MIGRATE: "false",
      METER_CLOUD_LIMITS_KEY_PER_MINUTE: "1000000",
    },
    traffic: {
      ...{ isOver: false, urls: [], answers: {}, acknowledgedBatches: {}, longestWaitMs: 0 },
    },
  };
  const { tenants, traffic } = update;
  try {
    await prepare(update, workspaces);
    for (let at = 0; at < PROCESSES; at += 1) await start(update, "former");
    const senders = tenants.flatMap((sent, at) =>
      sent.senders.map((sender, machine) =>
        sendBatches(sender, sent, traffic, createSeededRandom(`${seed} ${at} ${machine}`)),
      ),
    );
    await untilEachStored(traffic);
    const migrations = await migrateCloud(db, Date.now());
    tell(`migrated under load: ${migrations.join(", ")}`);
    const replacements = { former: 0, present: 0 };
    for (let round = 1; round <= rounds; round += 1) {
      const version = update.random.pick(["former", "present"] as const);
      await replace(update, update.random.integer(0, PROCESSES - 1), version);
      replacements[version] += 1;
      tell(`round ${round}: ${update.running.map((each) => each.version).join(", ")}`);
    }
    for (const [at, { version }] of update.running.entries()) {
      if (version === "present") continue;
      await replace(update, at, "present");
      replacements.present += 1;
    }
    traffic.isOver = true;
    await Promise.all(senders);
    tell("every batch is acknowledged; comparing");
    return {
      ...{ seed, from, migrations, replacements },
      ...(await compare(update)),
      batches: { former: countOf(update, "former"), present: countOf(update, "present") },
      acknowledged: tenants.reduce((total, { acknowledged }) => total + acknowledged.size, 0),
      answers: traffic.answers,
      longestWaitMs: Math.round(traffic.longestWaitMs),
    };
  } finally {
    traffic.isOver = true;
    for (const { cloud } of update.running) await cloud.end("SIGKILL");
    await db.destroy();
    await server.stop();
    rmSync(former, { recursive: true });
  }
}

/** Writes the files of a commit into a temporary folder, with the packages of this version. */
function checkOut(commit: string): string {
  const folder = mkdtempSync(join(tmpdir(), "meter-former-version-"));
  const archive = execFileSync("git", ["archive", commit], { cwd: root, maxBuffer: 2 ** 30 });
  const { status } = spawnSync("tar", ["-xf", "-", "-C", folder], { input: archive });
  if (status !== 0) throw new Error(`tar failed: exit status ${status}`);
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
  return folder;
}

/** Imports a module of the former version. */
async function importFormer<Module>({ former }: Update, file: string): Promise<Module> {
  return (await import(pathToFileURL(join(former, file)).href)) as Module;
}

/** Creates the tables and the workspaces as the former version does. */
async function prepare(update: Update, workspaces: number): Promise<void> {
  const program = join(update.former, "cli/cloud-bin.js");
  execFileSync(process.execPath, [program, "migrate"], {
    env: cloudEnvironment({ ...update.env, METER_CLOUD_HOME: update.former }),
  });
  const kit = await importFormer<{ addSenders: typeof addSenders }>(update, "tests/cloud/kit/senders.ts");
  for (let at = 0; at < workspaces; at += 1)
    update.tenants.push({
      ...(await kit.addSenders(update.db, MACHINES, Date.now())),
      acknowledged: new Set(),
    });
}

/** Starts a process, and sends batches to it. */
async function start(
  { env, former, traffic, running, versions }: Update,
  version: Version,
  at = running.length,
) {
  const program = version === "former" ? { program: join(former, "cli/cloud-bin.js") } : {};
  const cloud = await startCloudProcess({ env, ...program });
  running[at] = { version, cloud };
  traffic.urls[at] = cloud.url;
  versions.set(cloud.url, version);
}

/** Replaces a process by one of a version, and waits until both processes have stored batches. Then sums up as the hourly job does. */
async function replace(update: Update, at: number, version: Version): Promise<void> {
  const signal = update.random.pick(["SIGTERM", "SIGKILL"] as const);
  const code = await update.running[at]?.cloud.end(signal);
  if (signal === "SIGTERM" && code !== 0) throw new Error(`a process ended with ${code} on SIGTERM`);
  await start(update, version, at);
  await untilEachStored(update.traffic);
  await sumUp(update);
}

/** Completes the sums by model of every workspace, unless a process of the former version stores requests meanwhile. */
async function sumUp({ db, tenants }: Update): Promise<void> {
  for (const { workspaceId } of tenants)
    await sumModels(db, { kind: "sum_models", taskId: workspaceId, details: {} }, Date.now());
}

/** Waits until each process has acknowledged some more batches. */
async function untilEachStored({ urls, acknowledgedBatches }: Traffic): Promise<void> {
  const before = urls.map((url) => acknowledgedBatches[url] ?? 0);
  const isDone = () =>
    urls.every((url, at) => (acknowledgedBatches[url] ?? 0) >= (before[at] ?? 0) + BATCHES);
  await waitFor("batches to be stored by each process", async () => isDone(), 120_000);
}

function countOf({ traffic, versions }: Update, version: Version): number {
  return Object.entries(traffic.acknowledgedBatches)
    .filter(([url]) => versions.get(url) === version)
    .reduce((sum, [, count]) => sum + count, 0);
}

/** Compares by the code of both versions; then completes all sums, and compares again. */
async function compare(update: Update): Promise<Difference> {
  const { db, tenants } = update;
  const own = await importFormer<{ verifyWorkspaceLedgers: typeof verifyWorkspaceLedgers }>(
    update,
    "cloud/ledger/verify-ledgers.ts",
  );
  const byFormer = await findDifference(db, tenants, own.verifyWorkspaceLedgers);
  const byPresent = await findDifference(db, tenants);
  await sumUp(update);
  const summed = await findDifference(db, tenants);
  const faults = [...byFormer.faults, ...byPresent.faults, ...summed.faults];
  for (const { workspaceId } of tenants) {
    const isComplete = await inScope(
      db,
      { workspaceId },
      async (trx) =>
        (await hasModelSums(trx, workspaceId)) &&
        (await listUnsummedDays(trx, workspaceId, { from: Date.now() - 2 * DAY_MS, to: Date.now() }))
          .length === 0,
    );
    if (!isComplete) faults.push(`${workspaceId}: the sums by branch and model are not complete`);
  }
  return { ...summed, faults };
}
