// `npm run bench:memory`: resident memory after cancelled and after ordinary calls, a minute later, and the peak during each,
// with that of the smallest programs on Node: two processes under the same load (`bare processes`), and three threads without
// any (`bare threads`). `--cancelled N` and `--calls N` set their numbers (2,000 and 20,000: six minutes), `--stall SECONDS`
// repeatedly stops the main thread for that long while calls run, and `--plain` omits the allocator's limits.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { type Measure, saveResult } from "../summary/results.ts";
import { bareProcesses, bareThreadsMiB, type Contender, meter, openProvider } from "./contenders.ts";
import type { Route, Workload } from "./load.ts";
import { residentMiB } from "./process-figures.ts";
import { runLoad } from "./run-load.ts";

const option = (name: string, otherwise: number) =>
  process.argv.includes(name) ? Number(process.argv[process.argv.indexOf(name) + 1]) : otherwise;

/** How long after a load memory is measured, in milliseconds: within a minute it should have returned to its level at rest. */
const SETTLE_MS = 60_000;
/** How long after the start memory is measured, in milliseconds. */
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

const loads: [string, Workload][] = (
  [
    [
      "cancelled",
      { kind: "cancel", connections: 64, requests: option("--cancelled", 2_000), events: 500, bodyBytes: 0 },
    ],
    [
      "calls",
      { kind: "json", connections: 32, requests: option("--calls", 20_000), events: 0, bodyBytes: 0 },
    ],
  ] satisfies [string, Workload][]
).filter(([, work]) => work.requests > 0);

/** A program's resident memory in MiB: after the start, and during and after each load. */
interface Figures {
  readonly atStart: number;
  readonly loads: readonly { readonly peak: number; readonly after: number }[];
}

async function measure({ name, pid, route, stop }: Contender): Promise<Figures> {
  try {
    await new Promise((resolve) => setTimeout(resolve, START_MS));
    const atStart = residentMiB(pid as number);
    console.log(`${name}: ${atStart.toFixed(0)} MiB after the start`);
    const figures: { peak: number; after: number }[] = [];
    for (const [title, work] of loads) {
      const figure = await load(pid as number, route, work);
      figures.push(figure);
      console.log(
        `${name}, ${work.requests} ${title}: at most ${figure.peak.toFixed(0)} MiB, ${figure.after.toFixed(0)} MiB afterwards`,
      );
    }
    return { atStart, loads: figures };
  } finally {
    await stop();
  }
}

const folder = mkdtempSync(join(tmpdir(), "meter-memory-"));
const provider = await openProvider(folder);
try {
  const threads = await bareThreadsMiB();
  console.log(`bare threads: ${threads.toFixed(0)} MiB after the start`);
  const floor = await measure(await bareProcesses(provider));
  const own = await measure(
    await meter(provider, {
      hasMemoryLimits: !process.argv.includes("--plain"),
      stallSeconds: option("--stall", 0),
    }),
  );
  const toMeasure = (title: string, of: (figures: Figures) => number, most: number): Measure => ({
    ...{ title, unit: "MiB" },
    bars: [
      { name: "meter", value: of(own) },
      { name: "bare processes", value: of(floor) },
      { name: "bare threads", value: threads },
    ],
    goals: [{ peer: null, most }],
  });
  saveResult("memory", [
    toMeasure("Resident memory after the start", ({ atStart }) => atStart, 90),
    ...loads.flatMap(([title, { requests }], at) => [
      toMeasure(`Resident memory after ${requests} ${title}`, (of) => of.loads[at]?.after ?? 0, 150),
      toMeasure(`Most during ${requests} ${title}`, (of) => of.loads[at]?.peak ?? 0, 400),
    ]),
  ]);
} finally {
  provider.stop();
  rmSync(folder, { recursive: true, force: true });
}
