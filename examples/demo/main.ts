// `npm run demo`: real SDKs, the real daemon, and providers that are simulated on the wire. Nothing leaves the machine:
// the daemon reaches the "providers" through its own setting for a parent proxy, and trusts them through its own
// setting for an extra authority, as it would behind the proxy of a company.
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { formatPicoUsd } from "../../core/pricing/mod.ts";
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
import { type Books, compareBooks, ledgerBooks, reportedBooks } from "./compare-books.ts";

/** How long the simulated models take to answer, in milliseconds: less than any real one. */
const THINK_MS = 80;

const keep = process.argv.includes("--keep");
const program = [process.execPath, fileURLToPath(new URL("../../cli/bin.js", import.meta.url))];

/** Runs one command of the meter and gives what it printed. */
function runMeter(home: string, words: readonly string[]): Promise<string> {
  const [command = "", ...args] = [...program, ...words];
  const { columns } = process.stdout;
  const child = spawn(command, args, {
    env: { ...process.env, METER_HOME: home, ...(columns === undefined ? {} : { COLUMNS: String(columns) }) },
    stdio: ["ignore", "pipe", "inherit"],
  });
  let output = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (output += text));
  return new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code) => {
      if (code === 0) resolve(output.trimEnd());
      else reject(new Error(`meter ${words.join(" ")} ended with ${code}`));
    });
  });
}

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
  home: string,
  folder: string,
  project: string,
  clients: readonly SdkClient[],
): Promise<DrivenClient[]> {
  const cwd = createProjectFolder(folder, project);
  const how = { cwd, prefix: [...program, "run", "--"], env: { METER_HOME: home } };
  const driven = (
    await Promise.all(clients.map((client) => driveSdks({ clients: [client], ...how })))
  ).flat();
  for (const { client, calls } of driven) {
    const failed = calls.filter(({ ok }) => !ok).length;
    say(`${project}  ${client.padEnd(10)}  ${calls.length} calls, ${failed} of them failed as they should`);
  }
  return driven;
}

/** A call's record is written when its response ends, a moment after the client has seen it. */
async function waitForRecords(home: string, count: number): Promise<Books> {
  const deadline = performance.now() + 20_000;
  for (;;) {
    const books = reportedBooks(await runMeter(home, ["report", "--by", "provider", "--json"]));
    if (books.requests >= count || performance.now() > deadline) return books;
  }
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

function heading(text: string): void {
  say(`\n── ${text} ${"─".repeat(Math.max(4, 60 - text.length))}`);
}

/** Drives everything and shows it; false where the meter and the providers disagree. */
async function show(home: string, folder: string, simulation: ProviderSimulation): Promise<boolean> {
  heading("Two projects call their providers with the real SDKs");
  const apollo = await driveProject(home, folder, "apollo", ["anthropic", "openai"]);
  await driveProject(home, folder, "hermes", ["google", "compatible", "openai"]);
  await simulation.settled();

  const stated = ledgerBooks(simulation.ledger);
  const reported = await waitForRecords(home, stated.requests);
  heading("meter report --by project");
  // What stands below the table is the same for each grouping: once is enough.
  say((await runMeter(home, ["report", "--by", "project"])).split("\n\n")[0] ?? "");
  heading("meter report --by model");
  say(await runMeter(home, ["report", "--by", "model"]));

  const cached = apollo[0]?.calls.find(({ name }) => name.includes("one-hour cache"));
  if (cached?.responseId != null) {
    heading("meter explain <id>");
    say(await runMeter(home, ["explain", cached.responseId]));
  }

  heading("Is it exact?");
  const differences = compareBooks(stated, reported);
  for (const difference of differences) say(difference);
  const count = (value: bigint | number) => value.toLocaleString("en");
  say(
    differences.length === 0
      ? `Yes: ${count(stated.requests)} calls, ${count(stated.tokens)} tokens and $${formatPicoUsd(stated.costPicoUsd)}, in the report and in the providers' own books.`
      : "No: the report and the providers' own books disagree.",
  );
  return differences.length === 0;
}

/** Rejects when the person leaves: Ctrl-C, a closed terminal, a pipe whose reader has seen enough. */
function left(): { promise: Promise<never>; stay(): void } {
  const { promise, reject } = Promise.withResolvers<never>();
  const leave = () => reject(new Error("interrupted"));
  const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
  for (const signal of signals) process.on(signal, leave);
  process.stdout.on("error", leave);
  promise.catch(() => {});
  return {
    promise,
    stay() {
      for (const signal of signals) process.off(signal, leave);
    },
  };
}

async function main(): Promise<boolean> {
  const { promise: interrupted, stay } = left();
  const folder = mkdtempSync(join(tmpdir(), "meter-demo-"));
  const home = mkdtempSync(join(folder, "home-"));
  const simulation = await createProviderSimulation({ thinkMs: THINK_MS });
  const parent = await createParentProxy(simulation);
  try {
    writeConfig(home, simulation, parent);
    heading("meter start");
    say(await Promise.race([runMeter(home, ["start"]), interrupted]));
    const agrees = await Promise.race([show(home, folder, simulation), interrupted]);
    if (keep) {
      heading("Still running, providers and all");
      say(`In another terminal, in this folder:

  export METER_HOME=${home}
  npx meter run -- node examples/demo/client-anthropic.ts
  npx meter explain last
  npx meter status

Ctrl-C here stops the daemon and the providers and removes that home.`);
      await interrupted.catch(() => {});
    }
    return agrees;
  } finally {
    // Also after a start that was interrupted: its daemon may stand by now.
    await runMeter(home, ["stop"]).catch(() => {});
    await parent.close();
    await simulation.close();
    rmSync(folder, { recursive: true, force: true });
    stay();
  }
}

process.exitCode = await main().then(
  (agrees) => (agrees ? 0 : 1),
  (cause: unknown) => {
    process.stderr.write(`${cause instanceof Error ? cause.message : String(cause)}\n`);
    return 1;
  },
);
