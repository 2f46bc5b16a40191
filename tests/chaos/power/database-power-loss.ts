import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { openPgliteFolder } from "../../../adapters/postgres/pglite.ts";
import { type CloudDatabase, openCloudDatabase } from "../../../cloud/store/open-database.ts";
import { startCloudProcess } from "../../cloud/kit/cloud-process.ts";
import { writeMigratedFolder } from "../../cloud/kit/engines.ts";
import { addSenders, type Sender } from "../../cloud/kit/senders.ts";
import { createSeededRandom } from "../../simulation/seeded-random.ts";
import {
  expectCountedOnce,
  expectIntactLedgers,
  newBatch,
  RECORDS_PER_BATCH,
  sendBatch,
} from "./sent-batches.ts";
import { createSimulatedDisk, readWriteLog, type WriteRecord } from "./write-log.ts";

/** The result of the cuts. */
export interface DatabasePowerLossResult {
  readonly cuts: number;
  readonly seed: string;
  /** Batches that were confirmed, and the writes and syncs that were recorded meanwhile. */
  readonly batches: number;
  readonly writes: number;
  readonly syncs: number;
  /** Over all cuts: batches that were confirmed before the cut, and each of these was there. */
  readonly kept: number;
  /** Over all cuts: batches that had not been confirmed before the cut, and were stored when they were sent again. */
  readonly sentAgain: number;
}

/** A batch, and when the cloud confirmed it, by the clock of the recording. */
interface ConfirmedBatch {
  readonly sender: Sender;
  readonly ids: readonly string[];
  readonly atNs: bigint;
}

/** Compiles the library that records a process's writes. */
export function compileRecorder(folder: string): string {
  const library = join(folder, "record-writes.so");
  const source = join(import.meta.dirname, "record-writes.c");
  execFileSync("cc", ["-shared", "-fPIC", "-O2", "-o", library, source, "-ldl", "-lpthread"]);
  return library;
}

/**
 * Records the writes of `meter-cloud serve` on the embedded database while machines send batches, then cuts the power at random places.
 * What is left must start, have every batch that was confirmed before the cut, with intact ledgers, and count each request once after the
 * machines have sent everything again.
 */
export async function runDatabasePowerLoss({
  cuts,
  batches,
  seed,
}: {
  cuts: number;
  batches: number;
  seed: string;
}): Promise<DatabasePowerLossResult> {
  const folder = mkdtempSync(join(tmpdir(), "meter-pglite-power-"));
  const random = createSeededRandom(`${seed} database cuts`);
  try {
    const { disk, writes, workspaceId, confirmed } = await recordCloud(folder, batches);
    const [first] = confirmed;
    const from = writes.findIndex(({ atNs }) => atNs > (first as ConfirmedBatch).atNs);
    const places = Array.from({ length: cuts }, () => random.integer(from, writes.length - 1));
    let [applied, kept] = [0, 0];
    for (const [n, place] of places.sort((one, other) => one - other).entries()) {
      for (; applied <= place; applied += 1) disk.apply(writes[applied] as WriteRecord);
      const target = join(folder, `cut-${n}`);
      disk.cut(target, random);
      const at = (writes[place] as WriteRecord).atNs;
      kept += await inspectCut(target, workspaceId, confirmed, at).catch((cause: unknown) => {
        throw new Error(`cut ${n} after write ${place}`, { cause });
      });
      rmSync(target, { recursive: true });
    }
    const syncs = writes.filter(({ op }) => op === "sync").length;
    const sent = { batches: confirmed.length, kept, sentAgain: cuts * confirmed.length - kept };
    return { cuts, seed, writes: writes.length, syncs, ...sent };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Runs the cloud. Returns its writes, the disk before them, and what was confirmed. */
async function recordCloud(folder: string, batches: number) {
  const home = join(folder, "cloud");
  await writeMigratedFolder(join(home, "database"));
  const { workspaceId, senders } = await withDatabase(home, (db) => addSenders(db, 2, Date.now()));
  const disk = createSimulatedDisk(home);
  const log = join(folder, "writes.log");
  const env = { LD_PRELOAD: compileRecorder(folder), METER_WRITE_LOG: log, METER_WRITE_ROOT: home };
  const cloud = await startCloudProcess({ home, env });
  const confirmed: ConfirmedBatch[] = [];
  try {
    for (let n = 0; n < batches; n += 1) {
      const [sender, ids] = [senders[n % senders.length] as Sender, newBatch()];
      await sendBatch(cloud.url, sender, ids);
      confirmed.push({ sender, ids, atNs: process.hrtime.bigint() });
    }
  } finally {
    // As a power cut finds it: the database is not closed.
    await cloud.end("SIGKILL");
  }
  return { disk, writes: readWriteLog(log), workspaceId, confirmed };
}

/** Starts what a power cut left, and checks it. Returns how many batches had to be there. */
async function inspectCut(
  home: string,
  workspaceId: string,
  confirmed: readonly ConfirmedBatch[],
  atNs: bigint,
): Promise<number> {
  let kept = 0;
  const cloud = await startCloudProcess({ home });
  try {
    for (const each of confirmed) {
      const duplicates = await sendBatch(cloud.url, each.sender, each.ids);
      if (each.atNs >= atNs) continue;
      assert.equal(duplicates, RECORDS_PER_BATCH, "a confirmed batch");
      kept += 1;
    }
  } finally {
    await cloud.end("SIGKILL");
  }
  await withDatabase(home, async (db) => {
    await expectCountedOnce(db, confirmed.length);
    await expectIntactLedgers(db, workspaceId);
  });
  return kept;
}

async function withDatabase<T>(home: string, work: (db: CloudDatabase) => Promise<T>): Promise<T> {
  const db = openCloudDatabase(await openPgliteFolder(join(home, "database")));
  try {
    return await work(db);
  } finally {
    await db.destroy();
  }
}
