import assert from "node:assert/strict";
import { chmodSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { sql } from "kysely";
import { createBodyKeyFolder } from "../../../adapters/body-keys/key-folder.ts";
import { systemClock } from "../../../adapters/clock/system-clock.ts";
import { openPostgres } from "../../../adapters/postgres/postgres-server.ts";
import { openBody } from "../../../cloud/store/body-cipher.ts";
import { migrateCloud } from "../../../cloud/store/migrate.ts";
import { type CloudDatabase, openCloudDatabase } from "../../../cloud/store/open-database.ts";
import { uuidV7 } from "../../../core/values/uuid.ts";
import { type CloudProcess, startCloudProcess } from "../../cloud/kit/cloud-process.ts";
import { type Person, signUp } from "../../cloud/kit/person.ts";
import { startPostgres } from "../../cloud/kit/postgres-server.ts";
import { addSender, type Sender } from "../../cloud/kit/senders.ts";
import { bodyPayload } from "../../cloud/kit/stored-body.ts";
import { createSeededRandom, type SeededRandom } from "../../simulation/seeded-random.ts";
import { compileRecorder } from "./database-power-loss.ts";
import {
  expectCountedOnce,
  expectIntactLedgers,
  expectStatus,
  newBatch,
  post,
  randomBytes,
  sendBatch,
} from "./sent-batches.ts";
import { createSimulatedDisk, readWriteLog, type WriteRecord } from "./write-log.ts";

/** Machines that send at the same time, so that PostgreSQL confirms several commits with one sync. */
const MACHINES = 3;

/** Longer than what PostgreSQL stores in a row itself. */
const BODY_CHARACTERS = 20_000;

/** Rounds of a machine between two checkpoints, after each of which PostgreSQL logs whole pages again. */
const ROUNDS_PER_CHECKPOINT = 4;

/** The result of the cuts. */
export interface PostgresPowerLossResult {
  readonly cuts: number;
  readonly seed: string;
  /** The writes and syncs that were recorded of all processes. */
  readonly writes: number;
  readonly syncs: number;
  /** What the cloud confirmed during the recording. */
  readonly confirmed: Readonly<Record<Confirmed["kind"], number>>;
  /** Over all cuts: what was confirmed before the cut, and each of these was there. */
  readonly kept: number;
  /** Over all cuts: batches that had not been confirmed before the cut, and were stored when they were sent again. */
  readonly sentAgain: number;
}

/** What the cloud confirmed, and when, by the clock of the recording. */
interface Confirmed {
  readonly kind: "batch" | "body" | "prompt_view" | "consent";
  /** The number of the batch, the id of the request whose body was stored or viewed, or the id of the consent. */
  readonly id: string;
  readonly atNs: bigint;
}

/** What was sent, by whom, and what was confirmed. */
interface Recording {
  readonly workspaceId: string;
  readonly batches: readonly { readonly sender: Sender; readonly ids: readonly string[] }[];
  readonly confirmed: readonly Confirmed[];
}

/**
 * Records the writes of `meter-cloud serve` and of PostgreSQL's processes with their default settings, while machines send
 * batches and bodies and a person reads prompts and consents. Then cuts the power at random places. What is left must start,
 * have everything that was confirmed before the cut, with intact ledgers, and count each request once after the machines have
 * sent everything again.
 */
export async function runPostgresPowerLoss(
  { cuts, rounds, seed }: { cuts: number; rounds: number; seed: string },
  tell: (line: string) => void,
): Promise<PostgresPowerLossResult> {
  const folder = mkdtempSync(join(tmpdir(), "meter-postgres-power-"));
  // PostgreSQL runs as its own user.
  chmodSync(folder, 0o711);
  const random = createSeededRandom(`${seed} postgres cuts`);
  try {
    const { disk, writes, recording } = await recordCloud(folder, rounds);
    const [first] = recording.confirmed;
    const from = writes.findIndex(({ atNs }) => atNs > (first as Confirmed).atNs);
    // One in each part, so that a few cuts already meet batches that are not confirmed yet.
    const startOf = (part: number) => from + Math.floor((part * (writes.length - from)) / cuts);
    const places = Array.from({ length: cuts }, (_, n) => random.integer(startOf(n), startOf(n + 1) - 1));
    let [applied, kept, sentAgain] = [0, 0, 0];
    for (const [n, place] of places.entries()) {
      for (; applied <= place; applied += 1) disk.apply(writes[applied] as WriteRecord);
      const target = join(folder, `cut-${n}`);
      disk.cut(target, random);
      chmodSync(target, 0o711);
      const at = (writes[place] as WriteRecord).atNs;
      const must = recording.confirmed.filter(({ atNs }) => atNs < at);
      await inspectCut(target, recording, must).catch((cause: unknown) => {
        throw new Error(`cut ${n} after write ${place}`, { cause });
      });
      kept += must.length;
      sentAgain += recording.batches.length - must.filter(({ kind }) => kind === "batch").length;
      if ((n + 1) % 20 === 0) tell(`${n + 1} cuts of PostgreSQL; nothing confirmed is missing`);
    }
    const count = (kind: Confirmed["kind"]) =>
      recording.confirmed.filter((each) => each.kind === kind).length;
    return {
      ...{ cuts, seed, writes: writes.length, syncs: writes.filter(({ op }) => op === "sync").length },
      confirmed: {
        batch: count("batch"),
        body: count("body"),
        prompt_view: count("prompt_view"),
        consent: count("consent"),
      },
      ...{ kept, sentAgain },
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Runs the cloud on PostgreSQL. Returns their writes, the disk before them, and what was sent and confirmed. */
async function recordCloud(folder: string, rounds: number) {
  const root = join(folder, "disk");
  mkdirSync(join(root, "cloud"), { recursive: true });
  // Checksums find a page of which a part was lost, and small segments make the log change its files often.
  const initWords = ["--data-checksums", "--wal-segsize=1"];
  const server = await startPostgres(true, null, { folder: root, initWords });
  let cloud: CloudProcess | null = null;
  try {
    await withDatabase(server.url("postgres"), (db) => migrateCloud(db, Date.now()));
    await server.crash();
    const disk = createSimulatedDisk(root);
    const recorded = join(folder, "recorded");
    mkdirSync(recorded);
    // PostgreSQL's user creates the log.
    chmodSync(recorded, 0o777);
    const log = join(recorded, "writes.log");
    const env = { LD_PRELOAD: compileRecorder(folder), METER_WRITE_LOG: log, METER_WRITE_ROOT: root };
    await server.restart(env);
    cloud = await startCloudProcess({
      home: join(root, "cloud"),
      env: { ...env, ...cloudSettings(server.url("postgres")) },
    });
    const recording = await withDatabase(server.url("postgres"), (db) =>
      useCloud(db, cloud as CloudProcess, rounds),
    );
    await cloud.end("SIGKILL");
    await server.kill();
    return { disk, recording, writes: readWriteLog(log) };
  } finally {
    await cloud?.end("SIGKILL");
    await server.stop();
  }
}

const cloudSettings = (url: string) => ({
  DATABASE_URL: url,
  METER_CLOUD_LIMITS_KEY_PER_MINUTE: "1000000",
  METER_CLOUD_LIMITS_USER_PER_MINUTE: "1000000",
});

/** Sends and reads at the cloud in rounds. */
async function useCloud(db: CloudDatabase, cloud: CloudProcess, rounds: number): Promise<Recording> {
  const person = await signUp(cloud.url, { name: "Ann", email: "ann@example.com" });
  const { workspaceId } = person;
  await db
    .updateTable("workspaces")
    .set({ plan: "business" })
    .where("workspace_id", "=", workspaceId)
    .execute();
  expectStatus(
    200,
    await person.ask("PATCH", `/v1/workspaces/${workspaceId}/settings`, { store_prompt_content: true }),
  );
  const now = Date.now();
  const author = `user-${uuidV7(now, randomBytes(10))}`;
  const member = { workspace_id: workspaceId, user_id: author, role: "member" as const, created_at: now };
  await db.insertInto("memberships").values(member).execute();
  const confirmed: Confirmed[] = [];
  const confirm = (kind: Confirmed["kind"], id: string) =>
    void confirmed.push({ kind, id, atNs: process.hrtime.bigint() });
  const batches: { sender: Sender; ids: string[] }[] = [];
  const work = async (sender: Sender) => {
    for (let round = 0; round < rounds; round += 1) {
      const ids = newBatch();
      const number = batches.push({ sender, ids }) - 1;
      await sendBatch(cloud.url, sender, ids);
      confirm("batch", `${number}`);
      const [requestId = ""] = ids;
      const body = bodyPayload(requestId, bodyOf(requestId));
      expectStatus(204, await post(`${cloud.url}/v1/requests/${requestId}/body`, sender.token, body));
      confirm("body", requestId);
      const query = new URLSearchParams({ workspace_id: workspaceId, reason: `view of ${requestId}` });
      expectStatus(200, await person.ask("GET", `/v1/traces/${requestId}/body?${query}`));
      confirm("prompt_view", requestId);
      confirm("consent", await giveConsent(person));
      if (round % ROUNDS_PER_CHECKPOINT === 0) await sql`checkpoint`.execute(db);
    }
  };
  const senders = await Promise.all(
    Array.from({ length: MACHINES }, () => addSender(db, workspaceId, now, author)),
  );
  await Promise.all(senders.map(work));
  await person.close();
  return { workspaceId, batches, confirmed };
}

async function giveConsent(person: Person): Promise<string> {
  const { body: shown } = await person.ask("GET", "/v1/consent/checkout");
  const answer = await person.ask("POST", "/v1/consent/checkout", {
    ...{ plan: "team", period: "annual", wording_hash: shown.wording_hash },
    ...{ agreed_terms: true, agreed_immediate: true },
  });
  expectStatus(201, answer);
  return answer.body.id;
}

/** Starts what a power cut left, and checks it. */
async function inspectCut(target: string, recording: Recording, must: readonly Confirmed[]): Promise<void> {
  const server = await startPostgres(false, null, { folder: target });
  let cloud: CloudProcess | null = null;
  try {
    const url = server.url("postgres");
    await withDatabase(url, async (db) => {
      await expectConfirmed(db, target, recording, must);
      await expectIntactLedgers(db, recording.workspaceId);
    });
    cloud = await startCloudProcess({ home: join(target, "cloud"), env: cloudSettings(url) });
    for (const { sender, ids } of recording.batches) await sendBatch(cloud.url, sender, ids);
    await withDatabase(url, async (db) => {
      await expectCountedOnce(db, recording.batches.length);
      await expectIntactLedgers(db, recording.workspaceId);
    });
  } finally {
    await cloud?.end("SIGKILL");
    await server.stop();
  }
}

async function expectConfirmed(
  db: CloudDatabase,
  target: string,
  { workspaceId, batches }: Recording,
  must: readonly Confirmed[],
): Promise<void> {
  const of = (kind: Confirmed["kind"]) => must.flatMap((each) => (each.kind === kind ? [each.id] : []));
  const missing = (ids: readonly string[], rows: readonly string[]) => {
    const found = new Set(rows);
    return ids.filter((id) => !found.has(id));
  };
  const requests = await db.selectFrom("requests").select("request_id as id").execute();
  const sent = of("batch").flatMap((number) => batches[Number(number)]?.ids ?? []);
  assert.deepEqual(
    missing(
      sent,
      requests.map(({ id }) => id),
    ),
    [],
    "confirmed requests",
  );
  const consents = await db.selectFrom("checkout_consent_records").select("consent_id as id").execute();
  assert.deepEqual(
    missing(
      of("consent"),
      consents.map(({ id }) => id),
    ),
    [],
    "confirmed consents",
  );
  const views = await db.selectFrom("prompt_views").select("request_id as id").execute();
  assert.deepEqual(
    missing(
      of("prompt_view"),
      views.map(({ id }) => id),
    ),
    [],
    "confirmed views of prompts",
  );
  const keys = createBodyKeyFolder(join(target, "cloud", "body-keys"));
  for (const requestId of of("body")) {
    const row = await db
      .selectFrom("request_bodies")
      .select(["request_body", "request_key_id"])
      .where("request_id", "=", requestId)
      .executeTakeFirst();
    assert.ok(row?.request_body && row.request_key_id !== null, "a confirmed body");
    const key = await keys.read(row.request_key_id);
    assert.ok(key, "the key of a confirmed body");
    const place = { workspaceId, requestId, direction: "request" } as const;
    assert.equal(new TextDecoder().decode(await openBody(row.request_body, key, place)), bodyOf(requestId));
  }
}

/** A text of a request that compression doesn't make short. */
function bodyOf(requestId: string): string {
  const random: SeededRandom = createSeededRandom(requestId);
  return Array.from({ length: BODY_CHARACTERS }, () => random.integer(0, 35).toString(36)).join("");
}

async function withDatabase<T>(url: string, work: (db: CloudDatabase) => Promise<T>): Promise<T> {
  const db = openCloudDatabase(openPostgres(url, systemClock));
  try {
    return await work(db);
  } finally {
    await db.destroy();
  }
}
