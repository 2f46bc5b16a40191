// `npm run bench:soak`: the daemon's resident memory and descriptors over half an hour (`--minutes N`) of kept, short,
// streamed, uploading and cancelled calls in turn, with a rest after each round. Writes `docs/soak.svg` with `--plot`. Exits
// with 1 if a line fitted through the rests, except the first, rises by more than 10 % (memory) or 8 (descriptors).
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { meter, openProvider } from "../proxy/contenders.ts";
import type { Workload } from "../proxy/load.ts";
import { descriptors, residentMiB } from "../proxy/process-figures.ts";
import { runLoad } from "../proxy/run-load.ts";
import { saveResult } from "../summary/results.ts";
import { drawMemory, type Sample, type Span } from "./draw-memory.ts";
import { fitTrend } from "./growth.ts";

/** Each round's workloads, in their order. */
const WORKLOADS: readonly (readonly [name: string, work: Workload])[] = [
  ["kept", { kind: "json", connections: 32, requests: 10_000, events: 0, bodyBytes: 0 }],
  ["short", { kind: "new", connections: 16, requests: 1_000, events: 0, bodyBytes: 0 }],
  ["streams", { kind: "stream", connections: 16, requests: 600, events: 200, bodyBytes: 0 }],
  ["8 MB bodies", { kind: "upload", connections: 4, requests: 40, events: 0, bodyBytes: 8_000_000 }],
  ["cancelled", { kind: "cancel", connections: 32, requests: 2_000, events: 200, bodyBytes: 0 }],
];
const SAMPLE_MS = 500;
/** Long enough for the threads to notice that they are at rest. */
const REST_MS = 20_000;
/** The line through the memory at rest may end at this multiple of its start. The first round fills caches, so it is left out. */
const MAX_GROWTH = 1.1;
/** The line through the descriptors at rest may rise by this many, because the number of connections that are kept ready varies. */
const MAX_MORE_DESCRIPTORS = 8;

const option = (name: string, otherwise: number) =>
  process.argv.includes(name) ? Number(process.argv[process.argv.indexOf(name) + 1]) : otherwise;
const minutes = option("--minutes", 30);
const scale = option("--scale", 1);

const folder = mkdtempSync(join(tmpdir(), "meter-soak-"));
const provider = await openProvider(folder);
const { pid, route, stop } = await meter(provider);
if (pid === null) throw new Error("the daemon has no process");
const startedAt = performance.now();
const seconds = () => (performance.now() - startedAt) / 1_000;
const samples: Sample[] = [];
const spans: Span[] = [];
const sample = (): Sample => ({ seconds: seconds(), mib: residentMiB(pid), descriptors: descriptors(pid) });
const sampling = setInterval(() => samples.push(sample()), SAMPLE_MS);
const atRest: Sample[] = [];
try {
  const rest = async () => {
    await new Promise((resolve) => setTimeout(resolve, REST_MS));
    return sample();
  };
  const describe = ({ mib, descriptors: open }: Sample) => `${mib.toFixed(0)} MiB and ${open} descriptors`;
  console.log(`at rest after the start: ${describe(await rest())}`);
  do {
    for (const [name, work] of WORKLOADS) {
      const from = seconds();
      await runLoad(route, { ...work, requests: Math.ceil(work.requests * scale) });
      spans.push({ name, from, to: seconds() });
    }
    const resting = await rest();
    atRest.push(resting);
    const peak = Math.max(...samples.map(({ mib }) => mib));
    console.log(
      `round ${atRest.length}: ${describe(resting)} at rest, at most ${peak.toFixed(0)} MiB so far`,
    );
  } while (seconds() < minutes * 60);
} finally {
  clearInterval(sampling);
  await stop();
  provider.stop();
  rmSync(folder, { recursive: true, force: true });
}
if (process.argv.includes("--plot"))
  writeFileSync(
    fileURLToPath(new URL("../../docs/soak.svg", import.meta.url)),
    drawMemory(
      samples,
      spans,
      "Resident memory of the daemon in MiB (blue) and its descriptors (orange), over time in minutes",
    ),
  );
const judged = atRest.slice(1);
if (judged.length < 3) console.log("too short to judge growth: four rounds are needed");
else {
  const memory = fitTrend(judged.map(({ seconds: at, mib }) => ({ seconds: at, value: mib })));
  const open = fitTrend(judged.map(({ seconds: at, descriptors: value }) => ({ seconds: at, value })));
  const [growth, more] = [memory.last / memory.first, open.last - open.first];
  console.log(`memory at rest: ${growth.toFixed(2)} times that of the second round, at most ${MAX_GROWTH}`);
  console.log(`descriptors at rest: ${more.toFixed(1)} more, at most ${MAX_MORE_DESCRIPTORS}`);
  console.log(`the lines rise by ${perHour(memory, "MiB")} and ${perHour(open, "descriptors")}`);
  if (growth > MAX_GROWTH || more > MAX_MORE_DESCRIPTORS) process.exitCode = 1;
  saveResult("soak", [
    {
      title:
        "Resident memory at rest: the end of the line through all rounds after the first, against its start",
      unit: "MiB",
      bars: [
        { name: "end", value: memory.last },
        { name: "start", value: memory.first },
      ],
      goals: [
        { peer: "start", most: MAX_GROWTH },
        { peer: null, most: 150 },
      ],
    },
    {
      title: "Descriptors at rest: the same line",
      unit: "",
      bars: [
        { name: "end", value: open.last },
        { name: "start", value: open.first },
      ],
      goals: [{ peer: null, most: open.first + MAX_MORE_DESCRIPTORS }],
    },
  ]);
  // `npm run nightly` keeps what is printed last.
  console.log(JSON.stringify({ rounds: atRest.length, memory, descriptors: open, atRest }, null, 2));
}

/** The rise of a line per hour. */
function perHour({ first, last }: ReturnType<typeof fitTrend>, unit: string): string {
  const [from, to] = [judged[0] as Sample, judged.at(-1) as Sample];
  return `${(((last - first) * 3_600) / (to.seconds - from.seconds)).toFixed(2)} ${unit} per hour`;
}
