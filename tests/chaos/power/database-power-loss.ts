import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { Kysely } from "kysely";
import { openPgliteFolder } from "../../../adapters/postgres/pglite.ts";
import { createSeededRandom } from "../../simulation/seeded-random.ts";
import { createSimulatedDisk, readWriteLog, type WriteRecord } from "./write-log.ts";

/** The result of the cuts. */
export interface DatabasePowerLossResult {
  readonly cuts: number;
  readonly seed: string;
  /** Commits that were confirmed, and the writes and syncs that were recorded meanwhile. */
  readonly commits: number;
  readonly writes: number;
  readonly syncs: number;
}

/** Compiles the library that records a process's writes. */
export function compileRecorder(folder: string): string {
  const library = join(folder, "record-writes.so");
  const source = join(import.meta.dirname, "record-writes.c");
  execFileSync("cc", ["-shared", "-fPIC", "-O2", "-o", library, source, "-ldl", "-lpthread"]);
  return library;
}

/**
 * Records the writes of the embedded database while rows are committed, then cuts the power at random places. Each database
 * that is left must open, and have every row whose commit was confirmed before the cut, once.
 */
export async function runDatabasePowerLoss({
  cuts,
  commits,
  seed,
}: {
  cuts: number;
  commits: number;
  seed: string;
}): Promise<DatabasePowerLossResult> {
  const folder = mkdtempSync(join(tmpdir(), "meter-pglite-power-"));
  const random = createSeededRandom(`${seed} database cuts`);
  try {
    const database = join(folder, "database");
    mkdirSync(database);
    await withDatabase(database, (db) => db.schema.createTable("kept").addColumn("n", "integer").execute());
    const disk = createSimulatedDisk(database);
    const log = join(folder, "writes.log");
    const confirmed = await writeRows(database, commits, {
      LD_PRELOAD: compileRecorder(folder),
      METER_WRITE_LOG: log,
      METER_WRITE_ROOT: database,
    });
    const writes = readWriteLog(log);
    const places = Array.from({ length: cuts }, () => random.integer(0, writes.length - 1));
    let applied = 0;
    for (const [n, place] of places.sort((one, other) => one - other).entries()) {
      for (; applied <= place; applied += 1) disk.apply(writes[applied] as WriteRecord);
      const target = join(folder, `cut-${n}`);
      disk.cut(target, random);
      const at = (writes[place] as WriteRecord).atNs;
      const must = confirmed.filter(({ atNs }) => atNs < at).map((row) => row.n);
      await withDatabase(target, async (db) => {
        const rows = (await db.selectFrom("kept").select("n").execute()).map((row) => row.n);
        assert.equal(new Set(rows).size, rows.length, "no row is there twice");
        const lost = must.filter((each) => !rows.includes(each));
        assert.deepEqual(lost, [], `cut ${n} after write ${place}: confirmed rows are missing`);
      });
      rmSync(target, { recursive: true });
    }
    const syncs = writes.filter(({ op }) => op === "sync").length;
    return { cuts, seed, commits: confirmed.length, writes: writes.length, syncs };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** A table of the test itself. */
interface KeptTables {
  kept: { n: number };
}

async function withDatabase<T>(folder: string, work: (db: Kysely<KeptTables>) => Promise<T>): Promise<T> {
  const { dialect } = await openPgliteFolder(folder);
  const db = new Kysely<KeptTables>({ dialect });
  try {
    return await work(db);
  } finally {
    await db.destroy();
  }
}

/** Commits rows in another process. Returns when each commit was confirmed, by the clock of the recording. */
async function writeRows(
  folder: string,
  commits: number,
  env: Readonly<Record<string, string>>,
): Promise<readonly { readonly n: number; readonly atNs: bigint }[]> {
  const child = spawn(process.execPath, [join(import.meta.dirname, "write-rows.ts"), folder, `${commits}`], {
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "inherit"],
  });
  let output = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (output += text));
  const code = await new Promise<number | null>((resolve) => child.on("close", resolve));
  if (code !== 0) throw new Error(`the writer ended with ${code}`);
  return output
    .trim()
    .split("\n")
    .map((line) => line.split(" "))
    .map(([n, atNs]) => ({ n: Number(n), atNs: BigInt(atNs ?? 0) }));
}
