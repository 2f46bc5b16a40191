// `npm run bench:new-connections`: measures a call on a new connection, as from a program that starts, makes a call and exits: its
// duration with the provider 30 ms away, and its CPU time with the provider nearby, for all contenders in one run. `--quick` makes
// a fifth of the calls; `--only meter,direct` runs only these.
import { mkdtempSync, rmSync } from "node:fs";
import { cpus, loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { type Measure, saveResult } from "../summary/results.ts";
import type { Contender, Provider } from "./contenders.ts";
import * as contenders from "./contenders.ts";
import type { Workload } from "./load.ts";
import { cpuSecondsWithChildren } from "./process-figures.ts";
import { runLoad } from "./run-load.ts";

const ROUND_TRIP_MS = 30;

const option = (name: string) => process.argv[process.argv.indexOf(name) + 1];
const scale = process.argv.includes("--quick") ? 0.2 : 1;
const only = process.argv.includes("--only") ? new Set(option("--only")?.split(",")) : null;

const calls = (connections: number, requests: number): Workload => ({
  kind: "new",
  connections,
  requests: Math.ceil(requests * scale),
  events: 0,
  bodyBytes: 0,
});

interface Figures {
  readonly medianMs: number;
  readonly p99Ms: number;
  readonly cpuMs: number;
}

async function load({ pid, route, name }: Contender, work: Workload): Promise<Figures> {
  const before = pid === null ? 0 : cpuSecondsWithChildren(pid);
  const { latencyMs, requests } = await runLoad(route, work).catch((cause: Error) => {
    throw new Error(`${name}: ${cause.message}`);
  });
  const sorted = latencyMs.toSorted((one, other) => one - other);
  const at = (share: number) => sorted[Math.floor((sorted.length - 1) * share)] as number;
  return {
    medianMs: at(0.5),
    p99Ms: at(0.99),
    cpuMs: pid === null ? 0 : ((cpuSecondsWithChildren(pid) - before) * 1_000) / requests,
  };
}

interface Row {
  readonly contender: string;
  readonly one: Figures;
  readonly four: Figures;
  readonly near: Figures;
}

type Make = (provider: Provider) => Promise<Contender | null>;

async function measure(name: string, make: Make, near: Provider, far: Provider): Promise<Row | null> {
  const atFar = await make(far);
  if (atFar === null) return null;
  let one: Figures;
  let four: Figures;
  try {
    await load(atFar, calls(4, 400)); // warms up, so that compiled code is measured
    one = await load(atFar, calls(1, 300));
    four = await load(atFar, calls(4, 1_000));
  } finally {
    await atFar.stop();
  }
  const atNear = (await make(near)) as Contender;
  try {
    await load(atNear, calls(4, 1_000));
    return { contender: name, one, four, near: await load(atNear, calls(4, 2_000)) };
  } finally {
    await atNear.stop();
  }
}

const makers: Record<string, Make> = {
  direct: contenders.direct,
  "bare tap": contenders.bareTap,
  meter: contenders.meter,
  nginx: contenders.nginx,
  "http-mitm-proxy": contenders.httpMitmProxy,
  mockttp: contenders.mockttp,
  mitmproxy: contenders.mitmproxy,
};

const folder = mkdtempSync(join(tmpdir(), "meter-bench-"));
const near = await contenders.openProvider(folder);
const far = await contenders.openFarProvider(near, ROUND_TRIP_MS);
try {
  const load = loadavg().map((each) => each.toFixed(1));
  console.log(`Node ${process.version}, ${cpus().length} × ${cpus()[0]?.model}, load ${load.join(" ")}`);
  console.log(
    `provider ${ROUND_TRIP_MS} ms away: ms per call, times direct; provider nearby: CPU per call\n`,
  );
  let direct: Row | null = null;
  const rows: Row[] = [];
  for (const [name, make] of Object.entries(makers)) {
    if (only !== null && !only.has(name)) continue;
    const row = await measure(name, make, near, far);
    if (row === null) {
      console.log(`${name}: not installed, left out`);
      continue;
    }
    direct ??= row;
    rows.push(row);
    const time = (of: "one" | "four") =>
      `${row[of].medianMs.toFixed(1)} ms (p99 ${row[of].p99Ms.toFixed(0)}), ` +
      `${(row[of].medianMs / (direct as Row)[of].medianMs).toFixed(2)} times direct`;
    console.log(
      `${name.padEnd(16)} 1 client ${time("one")}; 4 clients ${time("four")}; ${row.near.cpuMs.toFixed(2)} ms CPU`,
    );
  }
  const toMeasure = (title: string, value: (row: Row) => number, goals: Measure["goals"]): Measure => ({
    title,
    unit: "ms",
    bars: rows
      .filter((row) => value(row) > 0)
      .toSorted((one, other) => Number(other.contender === "meter") - Number(one.contender === "meter"))
      .map((row) => ({ name: row.contender, value: value(row) })),
    goals,
  });
  saveResult("new-connections", [
    toMeasure("Call on a new connection, provider 30 ms away, one client", ({ one }) => one.medianMs, [
      { peer: "direct", most: 0.6 },
    ]),
    toMeasure("Call on a new connection, provider 30 ms away, four clients", ({ four }) => four.medianMs, [
      { peer: "direct", most: 0.6 },
    ]),
    toMeasure("CPU of a call on a new connection", ({ near }) => near.cpuMs, [
      { peer: null, most: 1.5 },
      { peer: "bare tap", most: 1.5 },
    ]),
  ]);
} finally {
  far.stop();
  near.stop();
  rmSync(folder, { recursive: true, force: true });
}
