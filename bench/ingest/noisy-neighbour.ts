/**
 * `npm run bench:noisy`: measures how long a small workspace's batches take in one process of the cloud on PostgreSQL 15, alone and
 * beside a noisy workspace. The noisy one sends large batches over many connections as fast as it can, and obeys `Retry-After` as daemons
 * do. Every batch must be stored, or refused with 503 or 429 and `Retry-After`. The database must contain what was acknowledged.
 *
 * `node bench/ingest/noisy-neighbour.ts [--seconds 10] [--noisy 100] [--good 4]`
 */
import process from "node:process";
import { parseArgs } from "node:util";
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";
import { sql } from "kysely";
import { Agent, request } from "undici";
import { systemClock } from "../../adapters/clock/system-clock.ts";
import { openPostgres } from "../../adapters/postgres/postgres-server.ts";
import { migrateCloud } from "../../cloud/store/migrate.ts";
import { openCloudDatabase } from "../../cloud/store/open-database.ts";
import { startCloudProcess } from "../../tests/cloud/kit/cloud-process.ts";
import { missingPostgres, startPostgres } from "../../tests/cloud/kit/postgres-server.ts";
import { addSenders, type Sender } from "../../tests/cloud/kit/senders.ts";
import { makeBatches, type WireRecord } from "./records.ts";

const { values: options } = parseArgs({
  options: {
    seconds: { type: "string", default: "10" },
    /** Connections of the noisy workspace, each from a different machine. */
    noisy: { type: "string", default: "100" },
    /** Machines of the small workspace. */
    good: { type: "string", default: "4" },
  },
});
const [seconds, noisyMachines, goodMachines] = [options.seconds, options.noisy, options.good].map(Number) as [
  number,
  number,
  number,
];

/** The number of records in a batch of the small workspace, and of the noisy one. */
const GOOD_SIZE = 10;
const NOISY_SIZE = 500;

/** The time between two batches of a machine of the small workspace. */
const GOOD_INTERVAL_MS = 100;

/** The responses that one workspace got. */
interface Outcome {
  readonly latencies: number[];
  acknowledged: number;
  refused: number;
}

/** The input of the noisy workspace's thread. It runs in a separate thread so that its work does not delay the measurement. */
interface NoisyTask {
  readonly url: string;
  readonly senders: readonly Sender[];
}

/** Sends a batch. Returns how long to wait before the next one, in milliseconds. */
async function send(
  url: string,
  agent: Agent,
  { token }: Sender,
  payload: string,
  outcome: Outcome,
): Promise<number> {
  const startedAt = performance.now();
  const answer = await request(`${url}/v1/requests/batch`, {
    dispatcher: agent,
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: payload,
    headersTimeout: 60_000,
  });
  const body = (await answer.body.json()) as { accepted?: number };
  outcome.latencies.push(performance.now() - startedAt);
  if (answer.statusCode === 200) {
    outcome.acknowledged += body.accepted ?? 0;
    return 0;
  }
  const retryAfter = Number(answer.headers["retry-after"]);
  if (![429, 503].includes(answer.statusCode) || !(retryAfter > 0))
    throw new Error(`a batch was answered ${answer.statusCode}: ${JSON.stringify(body)}`);
  outcome.refused += 1;
  return retryAfter * 1_000;
}

const payloadsOf = (batches: readonly (readonly WireRecord[])[]) =>
  batches.map((records) => JSON.stringify({ daemon_version: "0.4.0", records }));

let seed = 1;

async function runGood(url: string, agent: Agent, senders: readonly Sender[]): Promise<Outcome> {
  const outcome: Outcome = { latencies: [], acknowledged: 0, refused: 0 };
  const until = performance.now() + seconds * 1_000;
  await Promise.all(
    senders.map(async (sender) => {
      seed += 1;
      for (const payload of payloadsOf(makeBatches(seconds * 10, GOOD_SIZE, Date.now(), seed))) {
        if (performance.now() > until) return;
        const next = performance.now() + GOOD_INTERVAL_MS;
        await send(url, agent, sender, payload, outcome);
        await new Promise((resolve) => setTimeout(resolve, Math.max(0, next - performance.now())));
      }
    }),
  );
  return outcome;
}

/** Sends batches until the measurement ends. Runs in the noisy workspace's thread. */
async function runNoisy({ url, senders }: NoisyTask): Promise<Outcome> {
  const agent = new Agent({ connections: senders.length });
  const payloads = payloadsOf(makeBatches(400, NOISY_SIZE, Date.now(), 77_777));
  const outcome: Outcome = { latencies: [], acknowledged: 0, refused: 0 };
  parentPort?.postMessage("ready");
  const until = performance.now() + seconds * 1_000;
  let next = 0;
  await Promise.all(
    senders.map(async (sender) => {
      while (performance.now() < until) {
        next += 1;
        const waitMs = await send(url, agent, sender, payloads[next % payloads.length] ?? "", outcome);
        await new Promise((resolve) => setTimeout(resolve, waitMs));
      }
    }),
  );
  await agent.close();
  return outcome;
}

function describe(name: string, { latencies, acknowledged, refused }: Outcome): string {
  const sorted = latencies.toSorted((a, b) => a - b);
  const at = (share: number) => Math.round(sorted[Math.floor(sorted.length * share)] ?? 0);
  return `${name}: ${latencies.length} batches, ${refused} refused, ${acknowledged} records; ms p50 ${at(0.5)}, p99 ${at(0.99)}, max ${at(0.9999)}`;
}

async function main(): Promise<void> {
  const missing = missingPostgres();
  if (missing !== null) throw new Error(missing);
  const server = await startPostgres(true);
  const db = openCloudDatabase(openPostgres(server.url("postgres"), systemClock));
  await migrateCloud(db, 0);
  const good = await addSenders(db, goodMachines, Date.now());
  const noisy = await addSenders(db, noisyMachines, Date.now());
  const cloud = await startCloudProcess({
    env: { DATABASE_URL: server.url("postgres"), METER_CLOUD_LIMITS_KEY_PER_MINUTE: "10000000" },
  });
  const agent = new Agent({ connections: goodMachines });
  await runGood(cloud.url, agent, good.senders);
  const alone = await runGood(cloud.url, agent, good.senders);
  process.stdout.write(`${describe("small workspace, alone", alone)}\n`);
  const task: NoisyTask = { url: cloud.url, senders: noisy.senders };
  const thread = new Worker(new URL(import.meta.url), { workerData: task, argv: process.argv.slice(2) });
  await new Promise((resolve) => thread.once("message", resolve));
  const noise = new Promise<Outcome>((resolve, reject) => {
    thread.once("message", resolve);
    thread.once("error", reject);
  });
  const beside = await runGood(cloud.url, agent, good.senders);
  process.stdout.write(`${describe("small workspace, beside the noisy one", beside)}\n`);
  const noisyOutcome = await noise;
  process.stdout.write(`${describe("noisy workspace", noisyOutcome)}\n`);
  const { rows } = await sql<{ n: string }>`select count(*)::text as n from requests
    where workspace_id = ${noisy.workspaceId}::uuid`.execute(db);
  if (Number(rows[0]?.n) !== noisyOutcome.acknowledged)
    throw new Error(`${rows[0]?.n} records are stored, but ${noisyOutcome.acknowledged} were acknowledged`);
  await Promise.all([agent.close(), db.destroy()]);
  await cloud.end("SIGTERM");
  await server.stop();
}

if (isMainThread) await main();
else parentPort?.postMessage(await runNoisy(workerData as NoisyTask));
