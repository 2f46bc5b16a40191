// `npm run bench:soak`: the daemon's resident memory over half an hour (`--minutes N`) of kept, streamed, uploading and
// cancelled calls in turn, with a rest after each round. Writes `docs/soak.svg` with `--plot`. Ends with 1 if the memory at
// rest grows from round to round.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { meter, openProvider } from "../proxy/contenders.ts";
import type { Workload } from "../proxy/load.ts";
import { residentMiB } from "../proxy/process-figures.ts";
import { runLoad } from "../proxy/run-load.ts";
import { saveResult } from "../summary/results.ts";
import { drawMemory, type Sample, type Span } from "./draw-memory.ts";

/** Each round's workloads, in their order. */
const WORKLOADS: readonly (readonly [name: string, work: Workload])[] = [
  ["kept", { kind: "json", connections: 32, requests: 10_000, events: 0, bodyBytes: 0 }],
  ["streams", { kind: "stream", connections: 16, requests: 600, events: 200, bodyBytes: 0 }],
  ["8 MB bodies", { kind: "upload", connections: 4, requests: 40, events: 0, bodyBytes: 8_000_000 }],
  ["cancelled", { kind: "cancel", connections: 32, requests: 2_000, events: 200, bodyBytes: 0 }],
];
const SAMPLE_MS = 500;
/** Long enough for the threads to notice that they are at rest. */
const REST_MS = 20_000;
/** The memory at rest after the last round may be this multiple of that after the second. */
const MAX_GROWTH = 1.15;

const option = (name: string, otherwise: number) =>
  process.argv.includes(name) ? Number(process.argv[process.argv.indexOf(name) + 1]) : otherwise;
const minutes = option("--minutes", 30);

const folder = mkdtempSync(join(tmpdir(), "meter-soak-"));
const provider = await openProvider(folder);
const { pid, route, stop } = await meter(provider);
if (pid === null) throw new Error("the daemon has no process");
const startedAt = performance.now();
const seconds = () => (performance.now() - startedAt) / 1_000;
const samples: Sample[] = [];
const spans: Span[] = [];
const sampling = setInterval(() => samples.push({ seconds: seconds(), mib: residentMiB(pid) }), SAMPLE_MS);
const atRest: number[] = [];
try {
  const rest = async () => {
    await new Promise((resolve) => setTimeout(resolve, REST_MS));
    return residentMiB(pid);
  };
  console.log(`at rest after the start: ${(await rest()).toFixed(0)} MiB`);
  do {
    for (const [name, work] of WORKLOADS) {
      const from = seconds();
      await runLoad(route, work);
      spans.push({ name, from, to: seconds() });
    }
    atRest.push(await rest());
    const peak = Math.max(...samples.map(({ mib }) => mib));
    console.log(
      `round ${atRest.length}: ${atRest.at(-1)?.toFixed(0)} MiB at rest, at most ${peak.toFixed(0)} so far`,
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
    drawMemory(samples, spans, "Resident memory of the daemon in MiB, over time in minutes"),
  );
const [, second = Number.NaN] = atRest;
const last = atRest.at(-1) ?? Number.NaN;
if (atRest.length < 3) console.log("too short to judge growth: three rounds are needed");
else {
  console.log(
    `the last rest has ${(last / second).toFixed(2)} of the second's memory, at most ${MAX_GROWTH}`,
  );
  if (last > second * MAX_GROWTH) process.exitCode = 1;
  saveResult("soak", [
    {
      title: "Resident memory at rest after the last round, against the second",
      unit: "MiB",
      bars: [
        { name: "last", value: last },
        { name: "second", value: second },
      ],
      goals: [{ peer: "second", most: MAX_GROWTH }],
    },
  ]);
}
