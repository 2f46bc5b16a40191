import { readdirSync, readFileSync } from "node:fs";
import { sql } from "kysely";
import { Agent, request } from "undici";
import { systemClock } from "../../adapters/clock/system-clock.ts";
import { openPostgres } from "../../adapters/postgres/postgres-server.ts";
import { migrateCloud } from "../../cloud/store/migrate.ts";
import { type CloudDatabase, openCloudDatabase } from "../../cloud/store/open-database.ts";
import { seedRates } from "../../cloud/store/rates.ts";
import { loadBundledRates } from "../../core/pricing/bundled-rates.ts";
import { type CloudProcess, startCloudProcess } from "../../tests/cloud/kit/cloud-process.ts";
import { type PostgresServer, startPostgres } from "../../tests/cloud/kit/postgres-server.ts";
import { addSenders, type Sender } from "../../tests/cloud/kit/senders.ts";
import { makeBatches } from "../ingest/records.ts";

/** Processor time in microseconds. */
export interface Cpu {
  readonly cloud: number;
  readonly postgres: number;
}

/** The resources that the cloud needs on one PostgreSQL server. */
export interface Measured {
  readonly date: string;
  readonly machine: string;
  /** The load average before the measurement. Other programs make processor times longer, because they share the caches. */
  readonly loadBefore: number;
  readonly records: number;
  readonly perRecord: Cpu;
  /** Per batch, in addition to its records. */
  readonly perBatch: Cpu;
  /** Per request for budgets (`GET /v1/daemon/budgets`). */
  readonly perPoll: Cpu;
  /** Bytes of the tables that grow with the records, with their indexes. */
  readonly bytesPerRecord: { readonly requests: number; readonly indexes: number; readonly others: number };
  readonly walBytesPerRecord: number;
}

/** The kernel counts processor time in hundredths of a second. */
const TICK_US = 10_000;

/** The processor time of a process and of its children that have ended, in microseconds. */
export function cpuOf(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8")
    .replace(/^.*\) /s, "")
    .split(" ");
  return fields.slice(11, 15).reduce((sum, each) => sum + Number(each), 0) * TICK_US;
}

/** The processor time of a process and its children. */
function cpuOfTree(parent: number): number {
  const isChild = (name: string) => {
    try {
      return (
        readFileSync(`/proc/${name}/stat`, "utf8")
          .replace(/^.*\) /s, "")
          .split(" ")[1] === String(parent)
      );
    } catch {
      return false;
    }
  };
  const children = readdirSync("/proc").filter((name) => /^\d+$/.test(name) && isChild(name));
  return cpuOf(parent) + children.reduce((sum, name) => sum + cpuOf(Number(name)), 0);
}

/** The number of workspaces that send, each with one machine and its own connection. */
export const WORKSPACES = 8;

const LARGE = 500;
const SMALL = 2;

/** The date and the machine of a measurement. */
type Circumstances = Pick<Measured, "date" | "machine" | "loadBefore">;

/** Starts PostgreSQL and one process of the cloud, sends records in large and in small batches, and reads processor times and sizes. */
export async function measureCloud(records: number, circumstances: Circumstances): Promise<Measured> {
  const server = await startPostgres(true);
  const db = openCloudDatabase(openPostgres(server.url("postgres"), systemClock));
  try {
    await migrateCloud(db, Date.now());
    await seedRates(db, loadBundledRates(), Date.now());
    const senders: Sender[] = [];
    for (let each = 0; each < WORKSPACES; each += 1)
      senders.push(...(await addSenders(db, 1, Date.now())).senders);
    const cloud = await startCloudProcess({
      env: { DATABASE_URL: server.url("postgres"), METER_CLOUD_LIMITS_KEY_PER_MINUTE: "10000000" },
    });
    try {
      return await measureOn({ server, db, cloud, senders }, records, circumstances);
    } finally {
      await cloud.end("SIGTERM");
    }
  } finally {
    await db.destroy();
    await server.stop();
  }
}

interface Subject {
  readonly server: PostgresServer;
  readonly db: CloudDatabase;
  readonly cloud: CloudProcess;
  readonly senders: readonly Sender[];
}

async function measureOn(subject: Subject, records: number, circumstances: Circumstances): Promise<Measured> {
  const postmaster = Number(readFileSync(`${subject.server.folder}/postmaster.pid`, "utf8").split("\n")[0]);
  const cpu = (): Cpu => ({ cloud: cpuOf(subject.cloud.pid), postgres: cpuOfTree(postmaster) });
  const spent = async (work: () => Promise<void>): Promise<Cpu> => {
    const before = cpu();
    await work();
    const after = cpu();
    return { cloud: after.cloud - before.cloud, postgres: after.postgres - before.postgres };
  };
  const warmUp = 20 * WORKSPACES;
  await sendBatches(subject, warmUp, LARGE, 0);
  const walBefore = await readWal(subject.db);
  const largeBatches = Math.ceil(records / LARGE) - warmUp;
  const large = await spent(() => sendBatches(subject, largeBatches, LARGE, 1));
  const wal = (await readWal(subject.db)) - walBefore;
  const sizes = await readSizes(subject.db);
  const smallBatches = 4_000;
  await sendBatches(subject, 400, SMALL, 2);
  const small = await spent(() => sendBatches(subject, smallBatches, SMALL, 3));
  const polls = 4_000;
  const polled = await spent(() => poll(subject, polls));
  const perRecord = solve((kind) => [large[kind] / largeBatches, small[kind] / smallBatches]);
  const sent = (warmUp + largeBatches) * LARGE;
  return {
    ...{ ...circumstances, records: sent, ...perRecord },
    perPoll: { cloud: round(polled.cloud / polls), postgres: round(polled.postgres / polls) },
    bytesPerRecord: {
      requests: round(sizes.requests / sent),
      indexes: round(sizes.indexes / sent),
      others: round(sizes.others / sent),
    },
    walBytesPerRecord: round(wal / (largeBatches * LARGE)),
  };
}

const round = (value: number) => Math.round(value * 10) / 10;

/** Splits the times of a large and of a small batch into those of the batch and of each record. */
function solve(timesOf: (kind: keyof Cpu) => readonly [large: number, small: number]) {
  const both = { cloud: timesOf("cloud"), postgres: timesOf("postgres") };
  const record = (kind: keyof Cpu) => (both[kind][0] - both[kind][1]) / (LARGE - SMALL);
  const perRecord = { cloud: round(record("cloud")), postgres: round(record("postgres")) };
  const batch = (kind: keyof Cpu) => round(both[kind][1] - SMALL * record(kind));
  return { perRecord, perBatch: { cloud: batch("cloud"), postgres: batch("postgres") } };
}

/** Sends batches of records of a month, spread over all workspaces. Each sender waits for its answers. */
async function sendBatches(
  { cloud, senders }: Subject,
  batches: number,
  size: number,
  seed: number,
): Promise<void> {
  const agent = new Agent({ connections: senders.length, pipelining: 1 });
  const now = Date.now();
  let next = 0;
  const run = async ({ token }: Sender) => {
    while (next < batches) {
      const at = next++;
      // Each batch contains the records of two hours. The batches cover a month.
      const [records] = makeBatches(1, size, now - (at % 360) * 7_200_000, seed * 1e6 + at);
      const answer = await request(`${cloud.url}/v1/requests/batch`, {
        dispatcher: agent,
        method: "POST",
        headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
        body: JSON.stringify({ daemon_version: "0.4.0", records }),
      });
      const { accepted } = (await answer.body.json()) as { accepted?: number };
      if (accepted !== size)
        throw new Error(`a batch was answered ${answer.statusCode}, ${accepted} accepted`);
    }
  };
  await Promise.all(senders.map(run));
  await agent.close();
}

async function poll({ cloud, senders }: Subject, times: number): Promise<void> {
  const agent = new Agent({ connections: senders.length, pipelining: 1 });
  let next = 0;
  const run = async ({ token }: Sender) => {
    while (next++ < times) {
      const answer = await request(`${cloud.url}/v1/daemon/budgets`, {
        dispatcher: agent,
        headers: { authorization: `Bearer ${token}` },
      });
      await answer.body.dump();
      if (answer.statusCode !== 200)
        throw new Error(`a request for budgets was answered ${answer.statusCode}`);
    }
  };
  await Promise.all(senders.map(run));
  await agent.close();
}

async function readWal(db: CloudDatabase): Promise<number> {
  const { rows } = await sql<{ bytes: string }>`select pg_current_wal_lsn() - '0/0' as bytes`.execute(db);
  return Number(rows[0]?.bytes);
}

async function readSizes(db: CloudDatabase) {
  await sql.raw("vacuum (analyze)").execute(db);
  const { rows } = await sql<{ requests: string; indexes: string; others: string }>`
    select pg_table_size('requests') as requests, pg_indexes_size('requests') as indexes,
      (select sum(pg_total_relation_size(oid)) from pg_class
        where relkind = 'r' and relnamespace = 'public'::regnamespace and relname <> 'requests') as others`.execute(
    db,
  );
  const [row] = rows;
  return {
    requests: Number(row?.requests),
    indexes: Number(row?.indexes),
    others: Number(row?.others),
  };
}
