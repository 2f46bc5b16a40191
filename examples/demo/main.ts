// `npm run demo`: real SDKs, the real daemon, and providers simulated on the wire. Nothing leaves the machine: the daemon
// reaches the "providers" through its setting for a parent proxy, and trusts them through its setting for an extra
// authority, as it would behind a company's proxy.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { formatPicoUsd } from "../../core/pricing/money.ts";
import { killCloudProcesses } from "../../tests/cloud/kit/cloud-process.ts";
import {
  createParentProxy,
  createProjectFolder,
  createProviderSimulation,
  type DrivenClient,
  driveSdks,
  type ParentProxy,
  type ProviderSimulation,
  type SdkClient,
} from "../../tests/simulation/mod.ts";
import { installPackages } from "../../tools/packages.ts";
import { compareTotals, reportedTotals, statedTotals, type Totals } from "./compare-totals.ts";
import { keepRunning } from "./keep-running.ts";
import { heading, program, runMeter, type Stage, say } from "./run-meter.ts";
import { type DemoCloud, prepareDemoCloud, showCloud, startDemoCloud } from "./show-cloud.ts";

/** How long the simulated models take to respond, in milliseconds: less than real ones. */
const THINK_MS = 80;

await installPackages("examples/demo");

function writeConfig(home: string, simulation: ProviderSimulation, parent: ParentProxy): void {
  writeFileSync(
    join(home, "config.toml"),
    [
      "[proxy]",
      "port = 0",
      `parent = ${JSON.stringify(parent.url)}`,
      `extra_ca = ${JSON.stringify(simulation.caFile)}`,
      "",
      "[api]",
      "port = 0",
      "",
    ].join("\n"),
    { mode: 0o600 },
  );
}

async function driveProject(
  { home, signal }: Stage,
  folder: string,
  project: string,
  clients: readonly SdkClient[],
): Promise<DrivenClient[]> {
  signal?.throwIfAborted();
  const cwd = createProjectFolder(folder, project);
  const options = { cwd, prefix: [...program, "run", "--"], env: { METER_HOME: home } };
  const driven = (
    await Promise.all(clients.map((client) => driveSdks({ clients: [client], ...options })))
  ).flat();
  for (const { client, calls } of driven) {
    const failed = calls.filter(({ ok }) => !ok).length;
    say(`${project}  ${client.padEnd(10)}  ${calls.length} calls, ${failed} of them failed as intended`);
  }
  return driven;
}

/** A record is written when its response ends, shortly after the client has received it. */
async function waitForRecords(stage: Stage, count: number): Promise<Totals> {
  const deadline = performance.now() + 20_000;
  for (;;) {
    const totals = reportedTotals(await runMeter(stage, ["report", "--by", "provider", "--json"]));
    if (totals.requests >= count || performance.now() > deadline) return totals;
  }
}

/** Runs all calls and shows the results. Returns false if the meter and the providers disagree. */
async function show(
  stage: Stage,
  folder: string,
  simulation: ProviderSimulation,
  cloud: Promise<DemoCloud>,
): Promise<{ agrees: boolean; overviewUrl: string }> {
  // Bodies are stored, redacted, if enabled.
  say(await runMeter(stage, ["project", "apollo", "set", "body-capture", "on"]));
  heading("Two projects call their providers with the real SDKs");
  const apollo = await driveProject(stage, folder, "apollo", ["anthropic", "openai"]);
  await driveProject(stage, folder, "hermes", ["google", "compatible", "openai"]);
  await simulation.idle();

  const stated = statedTotals(simulation.calls);
  const reported = await waitForRecords(stage, stated.requests);
  heading("meter report --by project");
  // The text below the table is the same for every grouping, so it is shown once.
  say((await runMeter(stage, ["report", "--by", "project"])).split("\n\n")[0] ?? "");
  heading("meter report --by model");
  say(await runMeter(stage, ["report", "--by", "model"]));

  const cached = apollo[0]?.calls.find(({ name }) => name.includes("one-hour cache"));
  if (cached?.responseId != null) {
    heading("meter explain <id>");
    say(await runMeter(stage, ["explain", cached.responseId]));
  }

  heading("Is it exact?");
  const differences = compareTotals(stated, reported);
  for (const difference of differences) say(difference);
  const count = (value: bigint | number) => value.toLocaleString("en");
  say(
    differences.length === 0
      ? `Yes: ${count(stated.requests)} calls, ${count(stated.tokens)} tokens and $${formatPicoUsd(stated.costPicoUsd)}, in the report and in the providers' own totals.`
      : "No: the report and the providers' own totals disagree.",
  );
  const { request } = JSON.parse(
    await runMeter(stage, ["explain", apollo[0]?.calls[0]?.responseId ?? "last", "--json"]),
  );
  const { isZero, overviewUrl } = await showCloud(stage, await cloud, request.request_id);
  return { agrees: differences.length === 0 && isZero, overviewUrl };
}

/** Listens for an interruption: Ctrl-C, a closed terminal, or a closed pipe. */
function listenForInterruption(): {
  signal: AbortSignal;
  interrupted: Promise<never>;
  stopListening(): void;
} {
  const { promise: interrupted, reject } = Promise.withResolvers<never>();
  const abort = new AbortController();
  const interrupt = () => {
    reject(new Error("interrupted"));
    abort.abort();
  };
  const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
  for (const signal of signals) process.on(signal, interrupt);
  process.stdout.on("error", interrupt);
  interrupted.catch(() => {});
  return {
    signal: abort.signal,
    interrupted,
    stopListening() {
      for (const signal of signals) process.off(signal, interrupt);
    },
  };
}

async function main(): Promise<boolean> {
  const { signal, interrupted, stopListening } = listenForInterruption();
  const folder = mkdtempSync(join(tmpdir(), "meter-demo-"));
  const stage = { home: mkdtempSync(join(folder, "home-")), signal };
  const simulation = await createProviderSimulation({ responseDelayMs: THINK_MS });
  const parent = await createParentProxy(simulation);
  let cloud: Promise<DemoCloud> | null = null;
  let shown: ReturnType<typeof show> | null = null;
  try {
    writeConfig(stage.home, simulation, parent);
    const files = await prepareDemoCloud(folder, simulation.caFile);
    // Starts while the calls run. A failure is reported where the result is awaited.
    cloud = startDemoCloud(files);
    cloud.catch(() => {});
    heading("meter start");
    say(await Promise.race([runMeter(stage, ["start"]), interrupted]));
    shown = show(stage, folder, simulation, cloud);
    const { agrees, overviewUrl } = await Promise.race([shown, interrupted]);
    await keepRunning(process.argv, stage, overviewUrl, interrupted);
    return agrees;
  } finally {
    // Needed after an interrupted start too, whose daemon may already run.
    await runMeter({ home: stage.home }, ["stop"]).catch(() => {});
    killCloudProcesses();
    await cloud?.then(
      ({ process: { exited } }) => exited,
      () => {},
    );
    // A client that starts late would recreate the home.
    await shown?.catch(() => {});
    await parent.close();
    await simulation.close();
    rmSync(folder, { recursive: true, force: true });
    stopListening();
  }
}

process.exitCode = await main().then(
  (agrees) => (agrees ? 0 : 1),
  (cause: unknown) => {
    process.stderr.write(`${cause instanceof Error ? cause.message : String(cause)}\n`);
    return 1;
  },
);
