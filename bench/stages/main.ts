// `npm run bench:stages`: the CPU time and allocated bytes of each stage of a call on its own, against its budget. `--only store`
// runs the stages whose names contain that text. Times include garbage collection, with a young generation of the daemon's size.
// Bytes are counted in a second process whose young generation is so large that nothing is collected meanwhile.
import { spawnSync } from "node:child_process";
import { loadavg } from "node:os";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { getHeapStatistics } from "node:v8";
import { memoryLimits } from "../../core/operations/install/memory-limits.ts";
import { openStages, type Stage } from "./stages.ts";

/** Runs before the measured ones, so that compiled code is measured. A stream has a tenth of them. */
const WARM_UP_RUNS = 20_000;
/** Measured runs. A stream has a tenth of them. */
const MEASURED_RUNS = 40_000;
/** The bytes that the counted runs allocate, which the large young generation holds. */
const COUNTED_BYTES = 40e6;
/** In MB. One semi-space holds everything that is counted. */
const LARGE_SEMI_SPACE = 128;

const option = (name: string) =>
  process.argv.includes(name) ? process.argv[process.argv.indexOf(name) + 1] : undefined;

/** Runs a stage and returns how many times it ran. */
function runStage(stage: Stage, runs: number): number {
  const rounds = stage.units === 1 ? runs : runs / 10;
  for (let round = 0; round < rounds; round += 1) stage.run(round);
  return rounds;
}

/** Returns the CPU time of one unit in microseconds. The threads that collect garbage are included. */
function measureTime(stage: Stage): number {
  runStage(stage, WARM_UP_RUNS);
  const before = process.cpuUsage();
  const rounds = runStage(stage, MEASURED_RUNS);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / rounds / stage.units;
}

/** Returns the bytes that one unit allocates: objects, and buffers outside of the heap. */
function measureBytes(stage: Stage): number {
  const used = () => getHeapStatistics().used_heap_size + process.memoryUsage().arrayBuffers;
  runStage(stage, WARM_UP_RUNS);
  (globalThis as { gc?: () => void }).gc?.();
  const before = used();
  let rounds = 0;
  while (used() - before < COUNTED_BYTES && rounds < 4_096)
    for (let count = 0; count < 64; count += 1) stage.run(rounds++);
  return (used() - before) / rounds / stage.units;
}

/** Measures in this process, and prints the figures as JSON. */
async function measureHere(measure: (stage: Stage) => number): Promise<void> {
  const { stages, close } = await openStages();
  const only = option("--only") ?? "";
  const figures = stages.map((stage) => (stage.name.includes(only) ? measure(stage) : null));
  console.log(JSON.stringify(figures));
  close();
}

/** Measures in a separate process, because V8 reads its options at the start. */
function measureIn(mode: string, nodeOptions: readonly string[]): (number | null)[] {
  const { NODE_OPTIONS: _, ...allocator } = memoryLimits;
  const args = [...nodeOptions, fileURLToPath(import.meta.url), mode, ...process.argv.slice(2)];
  const { stdout, status } = spawnSync(process.execPath, args, {
    env: { ...process.env, ...allocator },
    stdio: ["ignore", "pipe", "inherit"],
    encoding: "utf8",
  });
  if (status !== 0) throw new Error(`${mode} failed`);
  return JSON.parse(stdout) as (number | null)[];
}

function report(stages: readonly Stage[], times: (number | null)[], bytes: (number | null)[]): void {
  const line = (cells: readonly string[]) =>
    cells.map((cell, at) => (at === 0 ? cell.padEnd(26) : cell.padStart(12))).join("");
  console.log(line(["stage", "µs CPU", "budget", "bytes", "budget"]));
  for (const [at, { name, unit, budget }] of stages.entries()) {
    const [time, size] = [times[at] ?? null, bytes[at] ?? null];
    if (time === null || size === null) continue;
    const over = time > budget.microseconds || size > budget.bytes ? "  over" : "";
    const cells = [name, time.toFixed(2), `${budget.microseconds}`, size.toFixed(0), `${budget.bytes}`];
    console.log(`${line(cells)}  per ${unit}${over}`);
  }
}

if (process.argv.includes("--time")) await measureHere(measureTime);
else if (process.argv.includes("--bytes")) await measureHere(measureBytes);
else {
  console.log(`Node ${process.version}, load ${loadavg()[0]?.toFixed(1)}`);
  const times = measureIn("--time", [memoryLimits.NODE_OPTIONS as string]);
  const large = [`--max-semi-space-size=${LARGE_SEMI_SPACE}`, `--min-semi-space-size=${LARGE_SEMI_SPACE}`];
  const bytes = measureIn("--bytes", [...large, "--expose-gc"]);
  const { stages, close } = await openStages();
  report(stages, times, bytes);
  close();
}
