import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as delay } from "node:timers/promises";
import {
  CREDENTIALS_FILE,
  createCredentialStore,
} from "../../../adapters/cloud-credentials/credential-store.ts";
import { createOutbox } from "../../../adapters/outbox/create-outbox.ts";
import { createSqliteOpener } from "../../../adapters/sqlite/open-sqlite.ts";
import { databaseFile } from "../../../cli/home/database-file.ts";
import { readConfig } from "../../../cli/home/read-config.ts";
import { LOG_SYNC_DELAY_MS } from "../../../daemon/store/log-sync.ts";
import { openStore } from "../../../daemon/store/open-store.ts";
import { runMeter } from "../../end-to-end/meter-process.rig.ts";
import { rawCalls } from "../../end-to-end/raw-client.rig.ts";
import { createSeededRandom, type SeededRandom } from "../../simulation/seeded-random.ts";
import { createSyncRig } from "../sync-rig.ts";
import { compileRecorder } from "./database-power-loss.ts";
import { createSimulatedDisk, readWriteLog, type WriteRecord } from "./write-log.ts";

/** The age that a lost call may have at the cut: the delay of the sync, and one slow sync of a busy machine, in milliseconds. */
const LOST_MS = LOG_SYNC_DELAY_MS + 1_000;

/** How often the client calls, in milliseconds. */
const CALL_EVERY_MS = 20;

/** How often it calls a daemon that is paused, so that the daemon can catch up between two pauses. */
const PAUSED_CALL_EVERY_MS = 100;

/** How long the daemon runs between two pauses, in milliseconds. */
const RUN_MS = 500;

const CONFIG_FILE = "config.toml";

/** What a daemon is put through. */
export interface PowerLossOptions {
  readonly cuts: number;
  readonly calls: number;
  readonly seed: string;
  /** Stops the daemon again and again for this long, as a machine without processor time does, in milliseconds. Default: 0. */
  readonly pauseMs?: number;
}

/** The result of the cuts. */
export interface PowerLossResult {
  readonly cuts: number;
  readonly seed: string;
  readonly calls: number;
  readonly writes: number;
  /** The cuts after which answered calls had no row, and the age of the oldest of these calls at its cut, in milliseconds. */
  readonly cutsWithLoss: number;
  readonly oldestLostMs: number;
  /** The longest time from a call's answer to the first sync after its row was written, over all calls, in milliseconds. */
  readonly longestUnsyncedMs: number;
  /** The longest time from a call's answer until its row was written, in milliseconds: how late the daemon was. */
  readonly longestReadMs: number;
  /** Of rows that were written more than a second late, the median time until their sync, in milliseconds; null if there are none. */
  readonly lateSyncMs: number | null;
  /** Rows that a cut's home had as sent, over all cuts; each was in its outbox. */
  readonly sentRows: number;
  /** How often `config.toml` and the credentials were replaced, and a budget was stored. No cut cost any of what was confirmed. */
  readonly changes: number;
}

/** A content of a file, and when the program that wrote it confirmed that, by the clock of the recording. */
interface FileVersion {
  readonly text: string;
  readonly atNs: bigint;
}

/** What commands changed during the recording. */
interface Changes {
  /** The contents of the files that are replaced, each file's oldest first. */
  readonly files: Readonly<Record<string, FileVersion[]>>;
  /** Names of budgets, and when each was confirmed. */
  readonly budgets: { readonly name: string; readonly atNs: bigint }[];
}

/** Why writes can't be recorded here; null if they can. */
export function recordingObstacle(): string | null {
  if (process.platform !== "linux") return "LD_PRELOAD is of Linux";
  return spawnSync("cc", ["--version"]).status === 0 ? null : "needs a C compiler (cc)";
}

/**
 * Returns the age that a lost call may have at the cut, in milliseconds: a daemon without processor time reads calls late, and can't sync
 * what it did not read.
 */
export function allowedMs({ longestReadMs }: PowerLossResult): number {
  return LOST_MS + longestReadMs;
}

/**
 * Records the writes of a daemon that meters calls and syncs them, then cuts its power at random places of the recording: of
 * what was not synced, each write is kept, dropped or torn. Each home that is left must open, and keep what was promised.
 */
export async function runPowerLoss(
  { cuts, calls, seed, pauseMs = 0 }: PowerLossOptions,
  tell: (line: string) => void,
): Promise<PowerLossResult> {
  const folder = mkdtempSync(join(tmpdir(), "meter-power-"));
  const random = createSeededRandom(`${seed} cuts`);
  try {
    const { disk, writes, answered, secrets, changes } = await recordDaemon(folder, {
      calls,
      seed,
      pauseMs,
    });
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
      const found = await inspectHome(target, { secrets, changes, at }, random).catch((cause: unknown) => {
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
      changes: Object.values(changes.files).reduce(
        (sum, all) => sum + all.length - 1,
        changes.budgets.length,
      ),
      ...measureSyncs(writes, answered),
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Runs a daemon with its cloud. Returns its writes, the disk before them, and when each call's response was complete. */
async function recordDaemon(
  folder: string,
  { calls, seed, pauseMs }: { calls: number; seed: string; pauseMs: number },
) {
  const library = compileRecorder(folder);
  const log = join(folder, "writes.log");
  const rig = await createSyncRig(seed);
  try {
    const disk = createSimulatedDisk(rig.home);
    const env = { LD_PRELOAD: library, METER_WRITE_LOG: log, METER_WRITE_ROOT: rig.home };
    const changes = readFirst(rig.home);
    await rig.startDaemon(env);
    const caller = rig.createCaller("power");
    const call = rawCalls.anthropic;
    // It is warm and idle before the first pause.
    await caller.call(call?.("ok", false) as Parameters<typeof caller.call>[0], "warm-up");
    await rig.poke();
    const endPauses = pauseMs === 0 ? async () => {} : pauseAgainAndAgain(rig.daemon.pid, pauseMs);
    const answered = new Map<string, bigint>();
    for (let n = 0; n < calls; n += 1) {
      const label = `call-${String(n).padStart(6, "0")}`;
      await caller.call(call?.("ok", n % 2 === 0) as Parameters<typeof caller.call>[0], label);
      answered.set(label, process.hrtime.bigint());
      if (pauseMs === 0 && n % 25 === 24) {
        await rig.poke();
        await change(rig.home, changes, env);
      }
      await delay(pauseMs === 0 ? CALL_EVERY_MS : PAUSED_CALL_EVERY_MS);
    }
    caller.close();
    await endPauses();
    await rig.poke();
    return { disk, answered, changes, writes: readWriteLog(log), secrets: readSecrets(rig.home) };
  } finally {
    await rig.close();
  }
}

function readFirst(home: string): Changes {
  const first = (file: string) => [{ text: readFileSync(join(home, file), "utf8"), atNs: 0n }];
  const files = { [CONFIG_FILE]: first(CONFIG_FILE), [CREDENTIALS_FILE]: first(CREDENTIALS_FILE) };
  return { files, budgets: [] };
}

/** Stores a budget, and replaces files of the home, by the programs that do so, with recorded writes. */
async function change(
  home: string,
  { files, budgets }: Changes,
  env: Readonly<Record<string, string>>,
): Promise<void> {
  const run = async (...words: string[]) => {
    const { code, stderr } = await runMeter(home, words, { env });
    assert.equal(code, 0, stderr);
  };
  const confirm = (file: string) => {
    const text = readFileSync(join(home, file), "utf8");
    assert.notEqual(text, files[file]?.at(-1)?.text, `${file} was replaced`);
    files[file]?.push({ text, atNs: process.hrtime.bigint() });
  };
  const name = `b${budgets.length}`;
  await run("budget", "set", name, "5 USD");
  budgets.push({ name, atNs: process.hrtime.bigint() });
  await run("cloud", "privacy", "set", "bodies.upload", "false", "--project", name);
  confirm(CONFIG_FILE);
  execFileSync(process.execPath, [join(import.meta.dirname, "replace-credentials.ts"), home], {
    env: { ...process.env, ...env },
  });
  confirm(CREDENTIALS_FILE);
}

/** Stops a process for `pauseMs`, and lets it run for a moment, until the returned function is called. */
function pauseAgainAndAgain(pid: number, pauseMs: number): () => Promise<void> {
  let isOver = false;
  const pausing = (async () => {
    while (!isOver) {
      process.kill(pid, "SIGSTOP");
      await delay(pauseMs);
      process.kill(pid, "SIGCONT");
      await delay(RUN_MS);
    }
  })();
  return async () => {
    isOver = true;
    await pausing;
  };
}

/** Finds in a recording how late the rows of answered calls were written and synced. */
function measureSyncs(writes: readonly WriteRecord[], answered: ReadonlyMap<string, bigint>) {
  const inLog = writes.filter(({ path }) => path.endsWith("-wal"));
  const syncs = inLog.filter(({ op }) => op === "sync");
  let [longestReadMs, longestUnsyncedMs] = [0, 0];
  const lateSyncsMs: number[] = [];
  for (const [label, atNs] of answered) {
    const row = inLog.find(({ op, data }) => op === "write" && data.includes(label));
    assert.ok(row, `the row of ${label} was written`);
    const synced = syncs.find((each) => each.atNs > row.atNs);
    assert.ok(synced, `the row of ${label} was synced`);
    const readMs = Number(row.atNs - atNs) / 1e6;
    if (readMs > LOG_SYNC_DELAY_MS) lateSyncsMs.push(Number(synced.atNs - row.atNs) / 1e6);
    longestReadMs = Math.max(longestReadMs, readMs);
    longestUnsyncedMs = Math.max(longestUnsyncedMs, Number(synced.atNs - atNs) / 1e6);
  }
  const lateSyncMs = lateSyncsMs.sort((one, other) => one - other)[Math.floor(lateSyncsMs.length / 2)];
  return {
    longestUnsyncedMs: Math.round(longestUnsyncedMs),
    longestReadMs: Math.round(longestReadMs),
    lateSyncMs: lateSyncMs === undefined ? null : Math.round(lateSyncMs),
  };
}

/** What the daemon creates once, and would be missed: the authority that programs trust, and the key of hashed ids. */
function readSecrets(home: string): readonly string[] {
  return ["ca/key.pem", "ca/ca.pem", "id-key"].map((file) => readFileSync(join(home, file), "utf8"));
}

/** Opens a home as the daemon does, and checks what a power cut must not change. */
async function inspectHome(
  home: string,
  { secrets, changes, at }: { secrets: readonly string[]; changes: Changes; at: bigint },
  random: SeededRandom,
) {
  assert.deepEqual(readSecrets(home), secrets);
  for (const [name, all] of Object.entries(changes.files)) {
    const confirmed = all.findLastIndex(({ atNs }) => atNs < at);
    const text = readFileSync(join(home, name), "utf8");
    assert.ok(
      all.slice(confirmed).some((each) => each.text === text),
      `${name} is the last confirmed one, or one that was being written: ${text}`,
    );
  }
  await readConfig(home, {});
  const file = databaseFile(home);
  const store = await openStore(createSqliteOpener(), file, { checkPages: "all" });
  const budgets = new Set(store.budgets.list().map(({ name }) => name));
  store.close();
  const lost = changes.budgets.filter(({ name, atNs }) => atNs < at && !budgets.has(name));
  assert.deepEqual(lost, [], "confirmed budgets");
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
