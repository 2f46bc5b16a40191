// `npm run bench:proxy`: the cost of a relay, measured for all contenders on one machine in one run. Only the ratios
// matter. `--quick` runs a tenth of the requests; `--only meter,nginx` runs only these.
import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { saveResult } from "../summary/results.ts";
import type { Contender } from "./contenders.ts";
import * as contenders from "./contenders.ts";
import type { Measured, Route, Workload } from "./load.ts";
import { cpuSecondsOfThread, cpuSecondsWithChildren, residentMiB, threads } from "./process-figures.ts";

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const option = (name: string) => process.argv[process.argv.indexOf(name) + 1];
const scale = process.argv.includes("--quick") ? 0.1 : 1;
const only = process.argv.includes("--only") ? new Set(option("--only")?.split(",")) : null;

const workloads: Record<string, Workload> = {
  json: { kind: "json", connections: 32, requests: 60_000 * scale, events: 0, bodyBytes: 0 },
  "json, one client": { kind: "json", connections: 1, requests: 4_000 * scale, events: 0, bodyBytes: 0 },
  stream: { kind: "stream", connections: 16, requests: 400 * scale, events: 500, bodyBytes: 0 },
  upload: { kind: "upload", connections: 1, requests: 40 * scale, events: 0, bodyBytes: 20 * 1024 * 1024 },
  hold: { kind: "hold", connections: 1000, requests: 1000, events: 0, bodyBytes: 0 },
};

interface Figures {
  measured: Measured;
  cpuSeconds: number;
  mainCpuSeconds: number;
  /** Resident memory in MiB before and during the load. */
  memory: [before: number, after: number];
}

async function load(contender: Contender, work: Workload, warmup: boolean): Promise<Figures> {
  const client = fork(here("./load.ts"), { stdio: ["ignore", "inherit", "inherit", "ipc"] });
  const { pid } = contender;
  const before = pid === null ? 0 : cpuSecondsWithChildren(pid);
  const mainBefore = pid === null ? 0 : cpuSecondsOfThread(pid, pid);
  const memoryBefore = pid === null ? 0 : residentMiB(pid);
  // A daemon runs for weeks, so compiled code is measured: the warm-up is half a run.
  const requests = warmup ? Math.ceil(work.requests / 2) : work.requests;
  client.send({ route: contender.route satisfies Route, work: { ...work, requests } });
  let memoryAfter = memoryBefore;
  try {
    for (;;) {
      const [message] = (await once(client, "message")) as [
        { measured?: Measured; failed?: string; held?: number },
      ];
      if (message.failed !== undefined) throw new Error(`${contender.name}: ${message.failed}`);
      if (message.held !== undefined) {
        // Memory settles after the garbage of the handshakes is collected.
        await new Promise((resolve) => setTimeout(resolve, 3000));
        memoryAfter = pid === null ? 0 : residentMiB(pid);
        client.send("release");
      }
      if (message.measured === undefined) continue;
      return {
        measured: message.measured,
        cpuSeconds: pid === null ? 0 : cpuSecondsWithChildren(pid) - before,
        mainCpuSeconds: pid === null ? 0 : cpuSecondsOfThread(pid, pid) - mainBefore,
        memory: [memoryBefore, Math.max(memoryAfter, pid === null ? 0 : residentMiB(pid))],
      };
    }
  } finally {
    client.kill();
  }
}

function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

const micro = (seconds: number, count: number) => (seconds * 1e6) / count;

type Row = Record<string, string | number>;

/** What is saved, with the goal as a multiple of nginx's figure. */
const SAVED: readonly [column: string, title: string, unit: string, mostTimesNginx: number | null][] = [
  ["json µs CPU", "CPU of a JSON call on a kept connection", "µs", 2],
  ["event µs CPU", "CPU of an event of a stream", "µs", 1.8],
  ["upload ms CPU per MiB", "CPU of an upload, per MiB", "ms", null],
  ["1 client first byte p50 ms", "First byte of a JSON call, one client, median", "ms", null],
  ["1000 streams MiB", "Memory of 1,000 open streams", "MiB", null],
  ["RSS MiB", "Resident memory at the end", "MiB", null],
];

async function measure(contender: Contender): Promise<Row> {
  const row: Row = { contender: `${contender.name} ${contender.version}`.trim() };
  const json = workloads.json as Workload;
  await load(contender, json, true);
  const many = await load(contender, json, false);
  row["json µs CPU"] = micro(many.cpuSeconds, many.measured.requests);
  row["of it main thread"] = micro(many.mainCpuSeconds, many.measured.requests);
  row["json req/s"] = many.measured.requests / many.measured.seconds;
  row["json p50 ms"] = percentile(many.measured.latencyMs, 0.5);
  row["json p99 ms"] = percentile(many.measured.latencyMs, 0.99);
  const one = await load(contender, workloads["json, one client"] as Workload, false);
  row["1 client first byte p50 ms"] = percentile(one.measured.firstByteMs, 0.5);
  row["1 client first byte p99 ms"] = percentile(one.measured.firstByteMs, 0.99);
  const stream = workloads.stream as Workload;
  await load(contender, stream, true);
  const streamed = await load(contender, stream, false);
  row["event µs CPU"] = micro(streamed.cpuSeconds, streamed.measured.requests * stream.events);
  row["of it main thread "] = micro(streamed.mainCpuSeconds, streamed.measured.requests * stream.events);
  row["stream first byte p50 ms"] = percentile(streamed.measured.firstByteMs, 0.5);
  const upload = workloads.upload as Workload;
  const uploaded = await load(contender, upload, false);
  const mebibytes = (uploaded.measured.requests * upload.bodyBytes) / 1024 / 1024;
  row["upload MiB/s"] = mebibytes / uploaded.measured.seconds;
  row["upload ms CPU per MiB"] = (uploaded.cpuSeconds * 1000) / mebibytes;
  const held = await load(contender, workloads.hold as Workload, false);
  row["1000 streams MiB"] = held.memory[1] - held.memory[0];
  if (contender.pid !== null) {
    row["RSS MiB"] = residentMiB(contender.pid);
    row.threads = threads(contender.pid).length;
  }
  return row;
}

function table(rows: readonly Row[]): string {
  const names = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  const show = (value: string | number | undefined) =>
    value === undefined
      ? ""
      : typeof value === "string"
        ? value
        : value.toFixed(value < 10 ? 2 : value < 100 ? 1 : 0);
  const lines = names.map((name) => [name.trim(), ...rows.map((row) => show(row[name]))]);
  const widths =
    lines[0]?.map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0))) ?? [];
  return lines
    .map((line) =>
      line
        .map((cell, column) =>
          column === 0 ? cell.padEnd(widths[0] as number) : cell.padStart(widths[column] as number),
        )
        .join("  "),
    )
    .join("\n");
}

const folder = mkdtempSync(join(tmpdir(), "meter-bench-"));
const rows: Row[] = [];
try {
  const provider = await contenders.openProvider(folder);

  console.log(`Node ${process.version}, ${cpus().length} × ${cpus()[0]?.model}`);
  const makers = {
    direct: contenders.direct,
    nginx: contenders.nginx,
    "bare tap": contenders.bareTap,
    meter: contenders.meter,
    "meter with a budget": (provider: contenders.Provider) => contenders.meter(provider, { hasBudget: true }),
    "http-mitm-proxy": contenders.httpMitmProxy,
    mockttp: contenders.mockttp,
    mitmproxy: contenders.mitmproxy,
  };
  for (const [name, make] of Object.entries(makers)) {
    if (only !== null && !only.has(name)) continue;
    const contender = await make(provider);
    if (contender === null) {
      console.log(`${name}: not installed, left out`);
      continue;
    }
    try {
      rows.push(await measure(contender));
      console.log(`${name}: measured`);
    } catch (cause) {
      console.log(`${name}: failed: ${cause instanceof Error ? cause.message : cause}`);
    } finally {
      await contender.stop();
    }
  }
  provider.stop();
  console.log(`\n${table(rows)}\n`);
  const [without, withBudget] = ["meter ", "meter, budget"].map((name) =>
    rows.find((row) => String(row.contender).startsWith(name)),
  );
  if (without !== undefined && withBudget !== undefined)
    console.log(
      `json µs CPU with a budget, times that without: ${(Number(withBudget["json µs CPU"]) / Number(without["json µs CPU"])).toFixed(3)}`,
    );
  const nginxRow = rows.find((row) => String(row.contender).startsWith("nginx"));
  const meterRow = rows.find((row) => String(row.contender).startsWith("meter"));
  if (nginxRow !== undefined && meterRow !== undefined) {
    for (const name of ["json µs CPU", "event µs CPU", "upload ms CPU per MiB"]) {
      const ratios = rows
        .filter((row) => row[name] !== undefined && Number(row[name]) > 0)
        .map((row) => `${row.contender} ${(Number(row[name]) / Number(nginxRow[name])).toFixed(2)}`);
      console.log(`${name}, times nginx: ${ratios.join(", ")}`);
    }
  }
  saveResult(
    "proxy",
    SAVED.map(([column, title, unit, most]) => ({
      title,
      unit,
      bars: rows
        .filter((row) => Number(row[column]) > 0)
        .toSorted((one, other) => Number(other === meterRow) - Number(one === meterRow))
        .map((row) => ({
          name: row === nginxRow ? "nginx" : String(row.contender),
          value: Number(row[column]),
        })),
      goals: most === null ? [] : [{ peer: "nginx", most }],
    })),
  );
} finally {
  rmSync(folder, { recursive: true, force: true });
}
