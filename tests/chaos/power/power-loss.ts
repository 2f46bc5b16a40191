import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as delay } from "node:timers/promises";
import { createCredentialStore } from "../../../adapters/cloud-credentials/credential-store.ts";
import { createOutbox } from "../../../adapters/outbox/create-outbox.ts";
import { createSqliteOpener } from "../../../adapters/sqlite/open-sqlite.ts";
import { databaseFile } from "../../../cli/home/database-file.ts";
import { LOG_SYNC_DELAY_MS } from "../../../daemon/store/log-sync.ts";
import { openStore } from "../../../daemon/store/open-store.ts";
import { rawCalls } from "../../end-to-end/raw-client.rig.ts";
import { createSeededRandom, type SeededRandom } from "../../simulation/seeded-random.ts";
import { createSyncRig } from "../sync-rig.ts";
import { compileRecorder } from "./database-power-loss.ts";
import { createSimulatedDisk, readWriteLog, type WriteRecord } from "./write-log.ts";

/** The age that a lost call may have at the cut: the delay of the sync, and one slow sync of a busy machine, in milliseconds. */
export const LOST_MS = LOG_SYNC_DELAY_MS + 1_000;

/** How often the client calls, in milliseconds. */
const CALL_EVERY_MS = 20;

/** The result of the cuts. */
export interface PowerLossResult {
  readonly cuts: number;
  readonly seed: string;
  readonly calls: number;
  readonly writes: number;
  /** The cuts after which answered calls had no row, and the age of the oldest of these calls at its cut, in milliseconds. */
  readonly cutsWithLoss: number;
  readonly oldestLostMs: number;
  /** Rows that a cut's home had as sent, over all cuts; each was in its outbox. */
  readonly sentRows: number;
}

/** Why writes can't be recorded here; null if they can. */
export function recordingObstacle(): string | null {
  if (process.platform !== "linux") return "LD_PRELOAD is of Linux";
  return spawnSync("cc", ["--version"]).status === 0 ? null : "needs a C compiler (cc)";
}

/**
 * Records the writes of a daemon that meters calls and syncs them, then cuts its power at random places of the recording: of
 * what was not synced, each write is kept, dropped or torn. Each home that is left must open, and keep what was promised.
 */
export async function runPowerLoss(
  { cuts, calls, seed }: { cuts: number; calls: number; seed: string },
  tell: (line: string) => void,
): Promise<PowerLossResult> {
  const folder = mkdtempSync(join(tmpdir(), "meter-power-"));
  const random = createSeededRandom(`${seed} cuts`);
  try {
    const { disk, writes, answered, secrets } = await recordDaemon(folder, calls, seed);
    const [first = 0n] = answered.values();
    const from = writes.findIndex(({ atNs }) => atNs > first);
    const places = Array.from({ length: cuts }, () => random.integer(from, writes.length - 1));
    let applied = 0;
    let [cutsWithLoss, oldestLostMs, sentRows] = [0, 0, 0];
    for (const [n, place] of places.sort((one, other) => one - other).entries()) {
      for (; applied <= place; applied += 1) disk.apply(writes[applied] as WriteRecord);
      const target = join(folder, `cut-${n}`);
      disk.cut(target, random);
      const at = (writes[place] as WriteRecord).atNs;
      const found = await inspectHome(target, secrets, random).catch((cause: unknown) => {
        throw new Error(`cut ${n} after write ${place}, kept in ${target}`, { cause });
      });
      const lost = [...answered].filter(([label, atNs]) => atNs < at && !found.projects.has(label));
      const ages = lost.map(([, atNs]) => Number(at - atNs) / 1e6);
      if (ages.length > 0) cutsWithLoss += 1;
      oldestLostMs = Math.max(oldestLostMs, ...ages);
      sentRows += found.sent;
      rmSync(target, { recursive: true });
      if ((n + 1) % 50 === 0)
        tell(`${n + 1} cuts; the oldest lost call was answered ${Math.round(oldestLostMs)} ms before`);
    }
    return {
      ...{ cuts, seed, calls: answered.size, writes: writes.length },
      ...{ cutsWithLoss, oldestLostMs: Math.round(oldestLostMs), sentRows },
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Runs a daemon with its cloud. Returns its writes, the disk before them, and when each call's response was complete. */
async function recordDaemon(folder: string, calls: number, seed: string) {
  const library = compileRecorder(folder);
  const log = join(folder, "writes.log");
  const rig = await createSyncRig(seed);
  try {
    const disk = createSimulatedDisk(rig.home);
    await rig.startDaemon({ LD_PRELOAD: library, METER_WRITE_LOG: log, METER_WRITE_ROOT: rig.home });
    const caller = rig.createCaller("power");
    const answered = new Map<string, bigint>();
    const call = rawCalls.anthropic;
    for (let n = 0; n < calls; n += 1) {
      await caller.call(call?.("ok", n % 2 === 0) as Parameters<typeof caller.call>[0], `call-${n}`);
      answered.set(`call-${n}`, process.hrtime.bigint());
      if (n % 25 === 24) await rig.poke();
      await delay(CALL_EVERY_MS);
    }
    caller.close();
    await rig.poke();
    return { disk, answered, writes: readWriteLog(log), secrets: readSecrets(rig.home) };
  } finally {
    await rig.close();
  }
}

/** What the daemon creates once, and would be missed: the authority that programs trust, and the key of hashed ids. */
function readSecrets(home: string): readonly string[] {
  return ["ca/key.pem", "ca/ca.pem", "id-key"].map((file) => readFileSync(join(home, file), "utf8"));
}

/** Opens a home as the daemon does, and checks what a power cut must not change. */
async function inspectHome(home: string, secrets: readonly string[], random: SeededRandom) {
  assert.deepEqual(readSecrets(home), secrets);
  const file = databaseFile(home);
  (await openStore(createSqliteOpener(), file, { checkPages: "all" })).close();
  const database = new DatabaseSync(file);
  let rows: { id: string; project: string; isSent: number }[];
  try {
    rows = database
      .prepare('SELECT request_id AS id, project, synced_at IS NOT NULL AS "isSent" FROM requests')
      .all() as typeof rows;
  } finally {
    database.close();
  }
  const projects = new Set(rows.map(({ project }) => project));
  assert.equal(projects.size, rows.length, "no call has two rows");
  assert.notEqual(await createCredentialStore(home).read(), null, "the credentials are there");
  const outbox = createOutbox(home);
  const before = await outbox.verify();
  assert.ok(before.ok, JSON.stringify(before));
  await outbox.append({
    ...{ kind: "metadata", at: 0, origin: "http://127.0.0.1", projects: [], fields: [] },
    ...{ requestIds: [], payload: String(random.integer(0, 9)) },
  });
  const verdict = await outbox.verify();
  assert.ok(verdict.ok, JSON.stringify(verdict));
  const logged = new Set<string>();
  for await (const { requestIds } of outbox.read()) for (const id of requestIds) logged.add(id);
  const sent = rows.filter(({ isSent }) => isSent === 1);
  assert.deepEqual(
    sent.filter(({ id }) => !logged.has(id)),
    [],
    "what was sent is in the outbox",
  );
  return { projects, sent: sent.length };
}
