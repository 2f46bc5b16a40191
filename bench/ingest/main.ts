/**
 * `npm run bench:ingest`: the number of records per second that one process of the cloud stores over HTTP in PostgreSQL 15,
 * including rollups. Compared with what the database does with the same rows: one `json_to_recordset` statement per batch
 * from the same number of connections, and `COPY` through psql. Each round gives every contender a new database on the same
 * server; the median of the rounds counts. Requests, parsing, pricing, rollups and row-level security are included for the
 * cloud.
 *
 * `node bench/ingest/main.ts [--batches 200] [--size 500] [--connections 4] [--rounds 3] [--json]`
 */
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { parseArgs } from "node:util";
import { sql } from "kysely";
import postgres from "postgres";
import { Agent, request } from "undici";
import { systemClock } from "../../adapters/clock/system-clock.ts";
import { openPostgres } from "../../adapters/postgres/postgres-server.ts";
import { migrateCloud } from "../../cloud/store/migrate.ts";
import { type CloudDatabase, openCloudDatabase } from "../../cloud/store/open-database.ts";
import { seedRates } from "../../cloud/store/rates.ts";
import { REQUEST_COLUMNS } from "../../cloud/store/request-columns.ts";
import { createRowConverter, type StoredRequest } from "../../cloud/store/stored-request.ts";
import { loadBundledRates } from "../../core/pricing/bundled-rates.ts";
import { createPriceBook } from "../../core/pricing/price-book.ts";
import { parseMetadataRecord } from "../../core/wire/metadata-record.ts";
import { startCloudProcess } from "../../tests/cloud/kit/cloud-process.ts";
import {
  missingPostgres,
  type PostgresServer,
  startPostgres,
} from "../../tests/cloud/kit/postgres-server.ts";
import { addSenders, type Sender } from "../../tests/cloud/kit/senders.ts";
import { saveResult } from "../summary/results.ts";
import { makeBatches, type WireRecord } from "./records.ts";

const { values: options } = parseArgs({
  options: {
    batches: { type: "string", default: "200" },
    size: { type: "string", default: "500" },
    connections: { type: "string", default: "4" },
    rounds: { type: "string", default: "3" },
    json: { type: "boolean", default: false },
  },
});
const [batches, size, connections, rounds] = [
  options.batches,
  options.size,
  options.connections,
  options.rounds,
].map(Number) as [number, number, number, number];

/** Batches before the measurement, for query plans, connections and compiled code. */
const WARM_UP_BATCHES = 20;

const COLUMNS = Object.keys(REQUEST_COLUMNS);

/** The result of a contender in one round. */
interface Round {
  readonly recordsPerSecond: number;
  /** Per batch, in milliseconds; empty without batches. */
  readonly latencies: readonly number[];
}

/** Sends all batches. Each worker takes the next remaining one. */
async function drain<Batch>(
  all: readonly Batch[],
  workers: number,
  send: (batch: Batch, worker: number) => Promise<void>,
): Promise<Round> {
  let next = 0;
  const latencies: number[] = [];
  const run = async (worker: number, until: number) => {
    while (next < until) {
      const batch = all[next++] as Batch;
      const startedAt = performance.now();
      await send(batch, worker);
      latencies.push(performance.now() - startedAt);
    }
  };
  const runAll = (until: number) =>
    Promise.all(Array.from({ length: workers }, (_, worker) => run(worker, until)));
  await runAll(WARM_UP_BATCHES);
  latencies.length = 0;
  const timed = all.length - next;
  const startedAt = performance.now();
  await runAll(all.length);
  const seconds = (performance.now() - startedAt) / 1_000;
  return { recordsPerSecond: (timed * size) / seconds, latencies };
}

async function overHttp(
  url: string,
  wire: readonly WireRecord[][],
  senders: readonly Sender[],
): Promise<Round> {
  const cloud = await startCloudProcess({
    env: {
      DATABASE_URL: url,
      METER_CLOUD_DATABASE_MAX_CONNECTIONS: String(connections),
      METER_CLOUD_LIMITS_KEY_PER_MINUTE: "10000000",
    },
  });
  const agent = new Agent({ connections, pipelining: 1 });
  try {
    const bodies = wire.map((records) => Buffer.from(JSON.stringify({ daemon_version: "0.4.0", records })));
    return await drain(bodies, connections, async (body, worker) => {
      const { token } = senders[worker] as Sender;
      const answer = await request(`${cloud.url}/v1/requests/batch`, {
        dispatcher: agent,
        method: "POST",
        headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
        body,
      });
      const { accepted } = (await answer.body.json()) as { accepted?: number };
      if (accepted !== size)
        throw new Error(`a batch was not accepted completely: status ${answer.statusCode}, ${accepted}`);
    });
  } finally {
    await agent.close();
    await cloud.end("SIGTERM");
  }
}

async function byStatement(
  url: string,
  workspaceId: string,
  rows: readonly StoredRequest[][],
): Promise<Round> {
  const client = postgres(url, { max: connections, fetch_types: false, onnotice: () => {} });
  const record = Object.entries(REQUEST_COLUMNS).map(([column, type]) => `${column} ${type}`);
  const statement = `insert into requests (workspace_id, ${COLUMNS.join(", ")})
    select $2::uuid, ${COLUMNS.join(", ")} from json_to_recordset($1::text::json) as r (${record.join(", ")})
    on conflict (workspace_id, request_id) do nothing`;
  try {
    const texts = rows.map((batch) => JSON.stringify(batch));
    return await drain(texts, connections, async (text) => {
      await client.unsafe(statement, [text, workspaceId], { prepare: true });
    });
  } finally {
    await client.end();
  }
}

/** Inserts the same rows with one COPY, because psql has no batches. */
async function byCopy(
  url: string,
  workspaceId: string,
  rows: readonly StoredRequest[][],
  folder: string,
): Promise<Round> {
  const path = join(folder, "rows.tsv");
  const cell = (value: unknown) =>
    value === null ? "\\N" : typeof value === "object" ? JSON.stringify(value) : String(value);
  const timed = rows.slice(WARM_UP_BATCHES).flat();
  const text = timed.map((row) =>
    [workspaceId, ...COLUMNS.map((column) => cell(row[column as keyof StoredRequest]))].join("\t"),
  );
  writeFileSync(path, `${text.join("\n")}\n`);
  const startedAt = performance.now();
  const command = `\\copy requests (workspace_id, ${COLUMNS.join(", ")}) from '${path}'`;
  const psql = spawn("psql", [url, "-X", "-q", "-v", "ON_ERROR_STOP=1", "-c", command], {
    stdio: ["ignore", "inherit", "inherit"],
  });
  const code = await new Promise<number | null>((resolve) => psql.once("exit", resolve));
  if (code !== 0) throw new Error(`psql failed with exit code ${code}`);
  return { recordsPerSecond: timed.length / ((performance.now() - startedAt) / 1_000), latencies: [] };
}

const median = (values: readonly number[]) => quantile(values, 0.5);

function quantile(values: readonly number[], part: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN;
}

async function createDatabase(
  server: PostgresServer,
  name: string,
): Promise<{ url: string; db: CloudDatabase; close(): Promise<void> }> {
  const admin = openCloudDatabase(openPostgres(server.url("postgres"), systemClock));
  await sql.raw(`create database ${name}`).execute(admin);
  await admin.destroy();
  const url = server.url(name);
  const db = openCloudDatabase(openPostgres(url, systemClock));
  await migrateCloud(db, Date.now());
  await seedRates(db, loadBundledRates(), Date.now());
  return { url, db, close: () => db.destroy() };
}

/** Checks that every row was stored once. */
async function assertRows(db: CloudDatabase, expected: number): Promise<void> {
  const { rows } = await sql<{ n: string }>`select count(*) as n from requests`.execute(db);
  if (rows[0]?.n !== String(expected))
    throw new Error(`${rows[0]?.n} rows are stored, but ${expected} were sent`);
}

async function main(): Promise<void> {
  const missing = missingPostgres();
  if (missing !== null) throw new Error(missing);
  const folder = mkdtempSync(join(tmpdir(), "meter-bench-"));
  const server = await startPostgres(true);
  const results: Record<string, Round[]> = { http: [], statement: [], copy: [] };
  try {
    for (let round = 0; round < rounds; round += 1) {
      const now = Date.now();
      const wire = makeBatches(batches + WARM_UP_BATCHES, size, now, round + 1);
      const book = createPriceBook(loadBundledRates());
      for (const contender of ["http", "statement", "copy"] as const) {
        const fresh = await createDatabase(server, `${contender}_${round}`);
        const { workspaceId, senders } = await addSenders(fresh.db, connections, now);
        const toRow = createRowConverter({ ...(senders[0] as Sender), receivedAt: now }, book);
        const rows = wire.map((records) =>
          records.map((record) => {
            const parsed = parseMetadataRecord(record);
            if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
            return toRow(parsed.value);
          }),
        );
        const done =
          contender === "http"
            ? await overHttp(fresh.url, wire, senders)
            : contender === "statement"
              ? await byStatement(fresh.url, workspaceId, rows)
              : await byCopy(fresh.url, workspaceId, rows, folder);
        const all = contender === "copy" ? batches : batches + WARM_UP_BATCHES;
        await assertRows(fresh.db, all * size);
        results[contender]?.push(done);
        await fresh.close();
      }
    }
  } finally {
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  }
  report(results);
}

function report(results: Readonly<Record<string, readonly Round[]>>): void {
  const rate = (name: string) =>
    median((results[name] ?? []).map(({ recordsPerSecond }) => recordsPerSecond));
  const titles: Record<string, string> = {
    http: "over HTTP, one cloud process, rollups included",
    statement: "one json_to_recordset statement per batch, no rollups",
    copy: "COPY through psql, no batches, no rollups",
  };
  process.stdout.write(
    `${batches} batches of ${size}, ${connections} connections, median of ${rounds} rounds\n\n`,
  );
  for (const [name, title] of Object.entries(titles)) {
    const latencies = (results[name] ?? []).flatMap((round) => round.latencies);
    const times =
      latencies.length === 0
        ? ""
        : `  batch p50 ${median(latencies).toFixed(1)} ms, p99 ${quantile(latencies, 0.99).toFixed(1)} ms`;
    process.stdout.write(
      `${title.padEnd(54)}${Math.round(rate(name)).toString().padStart(9)} records/s${times}\n`,
    );
  }
  const http = (results.http ?? []).flatMap((round) => round.latencies);
  process.stdout.write(
    `\nof the statement's rate: ${(rate("http") / rate("statement")).toFixed(2)} (target: at least 0.50)\n` +
      `p99 of a batch to its median: ${(quantile(http, 0.99) / median(http)).toFixed(1)} (target: at most 3)\n`,
  );
  saveResult("ingest", [
    {
      title: "Stored by one cloud process over HTTP, with rollups",
      unit: "records/s",
      bars: [
        { name: "meter-cloud", value: rate("http") },
        { name: "bare statement", value: rate("statement") },
        { name: "COPY", value: rate("copy") },
      ],
      goals: [{ peer: "bare statement", least: 0.5 }],
    },
    {
      title: "Time of a batch, p99 against median",
      unit: "ms",
      bars: [
        { name: "p99", value: quantile(http, 0.99) },
        { name: "median", value: median(http) },
      ],
      goals: [{ peer: "median", most: 3 }],
    },
  ]);
}

await main();
