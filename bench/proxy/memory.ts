// `npm run bench:memory`: resident memory after cancelled and after ordinary calls, a minute later, and the peak during each,
// with that of the smallest program with the same threads (`bare threads`). `--cancelled N` and `--calls N` set their numbers
// (2,000 and 20,000: three minutes), `--stall SECONDS` repeatedly stops the main thread for that long while calls run, and
// `--plain` omits the allocator's limits.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { type Measure, saveResult } from "../summary/results.ts";
import { bareThreadsMiB, meter, openProvider } from "./contenders.ts";
import type { Route, Workload } from "./load.ts";
import { residentMiB } from "./process-figures.ts";
import { runLoad } from "./run-load.ts";

const option = (name: string, otherwise: number) =>
  process.argv.includes(name) ? Number(process.argv[process.argv.indexOf(name) + 1]) : otherwise;

/** Time for memory to settle after a load, in milliseconds: it is to be back within a minute. */
const SETTLE_MS = 60_000;
/** Time for the start to end, in milliseconds. */
const START_MS = 10_000;
const SAMPLE_MS = 50;

async function load(pid: number, route: Route, work: Workload): Promise<{ peak: number; after: number }> {
  let peak = 0;
  const timer = setInterval(() => {
    peak = Math.max(peak, residentMiB(pid));
  }, SAMPLE_MS);
  try {
    await runLoad(route, work);
    await new Promise((resolve) => setTimeout(resolve, SETTLE_MS));
    return { peak, after: residentMiB(pid) };
  } finally {
    clearInterval(timer);
  }
}

const folder = mkdtempSync(join(tmpdir(), "meter-memory-"));
const provider = await openProvider(folder);
const contender = await meter(provider, {
  hasMemoryLimits: !process.argv.includes("--plain"),
  stallSeconds: option("--stall", 0),
});
try {
  const pid = contender.pid as number;
  await new Promise((resolve) => setTimeout(resolve, START_MS));
  const atStart = residentMiB(pid);
  const measures: Measure[] = [];
  const bare = await bareThreadsMiB();
  console.log(`bare threads: ${bare.toFixed(0)} MiB`);
  const addMeasure = (title: string, value: number, most: number) =>
    measures.push({
      ...{ title, unit: "MiB" },
      bars: [
        { name: "meter", value },
        { name: "bare threads", value: bare },
      ],
      goals: [{ peer: null, most }],
    });
  addMeasure("Resident memory after the start", atStart, 90);
  console.log(`at the start: ${atStart.toFixed(0)} MiB`);
  const loads: [string, Workload][] = [
    [
      "cancelled",
      { kind: "cancel", connections: 64, requests: option("--cancelled", 2_000), events: 500, bodyBytes: 0 },
    ],
    [
      "calls",
      { kind: "json", connections: 32, requests: option("--calls", 20_000), events: 0, bodyBytes: 0 },
    ],
  ];
  for (const [name, work] of loads) {
    if (work.requests === 0) continue;
    const { peak, after } = await load(pid, contender.route, work);
    console.log(
      `${work.requests} ${name}: at most ${peak.toFixed(0)} MiB, ${after.toFixed(0)} MiB afterwards`,
    );
    addMeasure(`Resident memory after ${work.requests} ${name}`, after, 150);
    addMeasure(`Most during ${work.requests} ${name}`, peak, 400);
  }
  saveResult("memory", measures);
} finally {
  await contender.stop();
  provider.stop();
  rmSync(folder, { recursive: true, force: true });
}
