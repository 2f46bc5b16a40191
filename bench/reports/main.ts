/**
 * `npm run bench:reports`: reports and the local page of an installed program over a million requests of 90 days: first by reading
 * every request, as after an update from a version without rollups, then from the rollups that the daemon has built, over the
 * same database; and when each page is first painted in Chromium. Needs the output of `npm run build`. Fails if a page exceeds its limit of
 * CPU time or of the time to its first paint.
 *
 * `node bench/reports/main.ts [--requests 1000000] [--even] [--json]`: `--even` spreads the calls over day and night and over all projects.
 */
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { get } from "node:http";
import { join } from "node:path";
import process from "node:process";
import { parseArgs } from "node:util";
import { createSqliteOpener } from "../../adapters/sqlite/open-sqlite.ts";
import type { RequestRecord } from "../../core/values/record.ts";
import { openStore } from "../../daemon/store/open-store.ts";
import type { CoverageCount } from "../../daemon/store/port/coverage.ts";
import { machineFactor, median, treeCpuMs } from "../cpu-time.ts";
import { installProgram } from "../installed-program.ts";
import { type Measure, saveResult } from "../summary/results.ts";
import { makeRecords } from "./dataset.ts";
import { measureFirstPaints } from "./first-paint.ts";

const { values: options } = parseArgs({
  options: {
    requests: { type: "string", default: "1000000" },
    even: { type: "boolean", default: false },
    json: { type: "boolean", default: false },
  },
});
const requests = Number(options.requests);

/** The targets for the medians, and for the first paint of a page in Chromium, in milliseconds. */
const MAX_PAGE_MS = 50;
const MAX_REPORT_MS = 100;
const MAX_FIRST_PAINT_MS = 300;

/** Records per transaction. */
const BATCH = 500;
const SCANS = 3;
const ROUNDS = 25;
const BUILD_TIMEOUT_MS = 600_000;

const inMs = (ms: number) => `${ms.toFixed(ms < 10 ? 1 : 0).padStart(7)} ms`;

/** Returns what the proxy counts for the records. */
const coverageOf = (records: readonly RequestRecord[]): CoverageCount[] =>
  records.flatMap(({ requestedAt: at, host }) => [
    { at, host, kind: "connections", count: 1 },
    { at, host, kind: "metered", count: 1 },
    { at, host, kind: "free", count: 1 },
  ]);

async function fill(path: string): Promise<void> {
  const startedAt = performance.now();
  const store = await openStore(createSqliteOpener(), path);
  let batch: RequestRecord[] = [];
  const insert = () => store.insertBatch({ records: batch, bodies: [], coverage: coverageOf(batch) });
  for (const record of makeRecords({ requests, days: 90, until: Date.now(), even: options.even })) {
    batch.push(record);
    if (batch.length < BATCH) continue;
    insert();
    batch = [];
  }
  insert();
  store.close();
  console.log(`${requests} requests in ${((performance.now() - startedAt) / 1_000).toFixed(0)} s`);
}

/** Returns how many milliseconds an answer took to its first byte, and its text. */
function request(port: number, path: string): Promise<{ firstByteMs: number; text: string }> {
  return new Promise((resolve, reject) => {
    const startedAt = performance.now();
    const sent = get({ host: "127.0.0.1", port, path }, (response) => {
      let [firstByteMs, text] = [0, ""];
      response.setEncoding("utf8");
      response.on("data", (part: string) => {
        if (text === "") firstByteMs = performance.now() - startedAt;
        text += part;
      });
      response.on("end", () => {
        if (response.statusCode === 200) resolve({ firstByteMs, text });
        else reject(new Error(`${path} answered ${response.statusCode}: ${text.slice(0, 200)}`));
      });
    });
    sent.on("error", reject);
  });
}

/** Waits until the daemon has added all requests to the rollups and summed up the days. Returns the seconds since `startedAt`. */
async function waitForRollups(path: string, startedAt: number): Promise<string> {
  const connection = await createSqliteOpener().open(path, { readOnly: true });
  const count = (sql: string) => connection.prepare<{ n: number | null }>(sql).get([])?.n ?? 0;
  while (performance.now() - startedAt < BUILD_TIMEOUT_MS) {
    const missing = requests - count("SELECT max(through_seq) AS n FROM usage_state");
    if (missing < 1_000 && count("SELECT count(*) AS n FROM usage_days") >= 89) break;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  connection.close();
  return ((performance.now() - startedAt) / 1_000).toFixed(0);
}

const { program, home, env, remove } = installProgram();
const database = join(home, "meter.db");

/** The floor of a report on Node: a program that reads the sums of the days by project from the same database. */
const FLOOR = `const { DatabaseSync } = require("node:sqlite");
  const database = new DatabaseSync(${JSON.stringify(database)}, { readOnly: true });
  console.log(database.prepare("SELECT project, sum(requests) FROM usage_day_series JOIN usage_series USING (series_id) GROUP BY project").all());`;

const run = (...words: readonly string[]) => runNode(program, ...words);

/** Runs a process and returns how long it took, in milliseconds. */
function runNode(...words: readonly string[]): number {
  const startedAt = performance.now();
  const { error, status } = spawnSync(process.execPath, words, { env, stdio: "ignore" });
  if (error !== undefined || status !== 0)
    throw error ?? new Error(`${words.join(" ")} failed with exit code ${status}`);
  return performance.now() - startedAt;
}

const COMMANDS = [
  ["report"],
  // Without the price list, which a report loads for the fixes of missing prices.
  ["report", "--csv"],
  ["report", "--by", "model", "--since", "30d"],
  ["report", "--by", "day", "--project", "project-1"],
];
const PATHS = [
  "/?period=90d",
  "/?period=7d",
  "/",
  "/explore",
  "/explore?by=branch",
  "/projects",
  "/models",
  "/requests",
  "/requests?sort=cost",
  "/requests?sort=tokens",
  "/savings",
  "/sessions",
  "/v1/stats",
  "/v1/status",
];

const repeat = (rounds: number, work: () => number) => median(Array.from({ length: rounds }, work));

async function firstBytes(rounds: number, port: number, path: string): Promise<number> {
  const figures: number[] = [];
  for (let round = 0; round < rounds; round += 1) figures.push((await request(port, path)).firstByteMs);
  return median(figures);
}

const measures: Measure[] = [];
const addMeasure = (
  title: string,
  scanMs: number,
  ms: number,
  mostMs: number | null,
  floorMs: number | null = null,
) =>
  measures.push({
    title,
    unit: "ms",
    bars: [
      { name: "from the rollups", value: ms },
      { name: "every request read", value: scanMs },
      ...(floorMs === null ? [] : [{ name: "node and one query", value: floorMs }]),
    ],
    goals: mostMs === null ? [] : [{ peer: null, most: mostMs }],
  });

/** Prints when each page is first painted, and adds it to the measures. */
async function printFirstPaints(port: number): Promise<void> {
  const pages = PATHS.filter((path) => !path.startsWith("/v1/"));
  const paints = await measureFirstPaints(`http://127.0.0.1:${port}`, pages);
  if (paints === null) console.log("first paint: not measured, there is no Chromium");
  for (const [path, ms] of paints ?? []) {
    const isFine = ms <= MAX_FIRST_PAINT_MS;
    if (!isFine) process.exitCode = 1;
    measures.push({
      title: `First paint of ${path}`,
      unit: "ms",
      bars: [{ name: "in Chromium", value: ms }],
      goals: [{ peer: null, most: MAX_FIRST_PAINT_MS }],
    });
    console.log(`${`first paint of ${path}`.padEnd(46)}${inMs(ms)}${isFine ? "" : " (beyond the target)"}`);
  }
}

try {
  await fill(database);
  run("--version");
  const scans = COMMANDS.map((words) => repeat(SCANS, () => run(...words)));
  run("start");
  const startedAt = performance.now();
  const { api_port: port, pid } = JSON.parse(readFileSync(join(home, "daemon.json"), "utf8")) as {
    api_port: number;
    pid: number;
  };
  const pageScans = [await firstBytes(1, port, PATHS[0] as string)];
  for (const path of PATHS.slice(1)) pageScans.push(await firstBytes(1, port, path));
  console.log(`the rollups were built ${await waitForRollups(database, startedAt)} s after the start\n`);
  const factor = machineFactor();
  console.log(`this machine is ${factor.toFixed(2)} times slower than the one that the budgets were set on`);
  console.log("medians, every request read, then from the rollups:");
  for (const [at, path] of PATHS.entries()) {
    const cpuBefore = treeCpuMs(pid);
    const ms = await firstBytes(ROUNDS, port, path);
    // CPU time, since other load on the machine makes the first byte late.
    const cpuMs = (treeCpuMs(pid) - cpuBefore) / ROUNDS / factor;
    const isFine = cpuMs <= MAX_PAGE_MS;
    if (!isFine) process.exitCode = 1;
    addMeasure(`First byte of ${path}`, pageScans[at] ?? 0, ms, at > 0 ? null : MAX_PAGE_MS);
    console.log(
      `${`first byte of ${path}`.padEnd(36)}${inMs(pageScans[at] ?? 0)}${inMs(ms)}, CPU${inMs(cpuMs)}${isFine ? "" : " (beyond the target)"}`,
    );
  }
  await printFirstPaints(port);
  console.log(
    `${"meter --version".padEnd(36)}${"".padStart(10)}${inMs(repeat(ROUNDS, () => run("--version")))}`,
  );
  const floorMs = repeat(ROUNDS, () => runNode("-e", FLOOR));
  console.log(`${"node and one query".padEnd(36)}${"".padStart(10)}${inMs(floorMs)}`);
  for (const [at, words] of COMMANDS.entries()) {
    const ms = repeat(ROUNDS, () => run(...words));
    addMeasure(`meter ${words.join(" ")}`, scans[at] ?? 0, ms, MAX_REPORT_MS, floorMs);
    console.log(
      `${`meter ${words.join(" ")}`.padEnd(36)}${inMs(scans[at] ?? 0)}${inMs(ms)}${ms <= MAX_REPORT_MS ? "" : " (beyond the target)"}`,
    );
  }
  saveResult("reports", measures);
} finally {
  spawnSync(process.execPath, [program, "stop"], { env, stdio: "ignore" });
  remove();
}
