// `npm run demo`: real SDKs, the real daemon, and providers that are simulated on the wire. Nothing leaves the machine:
// the daemon reaches the "providers" through its own setting for a parent proxy, and trusts them through its own
// setting for an extra authority, as it would behind the proxy of a company.
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
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

const keep = process.argv.includes("--keep");
const program = [process.execPath, fileURLToPath(new URL("../../cli/bin.js", import.meta.url))];

/** Runs one command of the meter; its output goes to the terminal unless it is wanted here. */
function runMeter(home: string, words: readonly string[], show = true): Promise<string> {
  const [command = "", ...args] = [...program, ...words];
  const child = spawn(command, args, {
    env: {
      ...process.env,
      METER_HOME: home,
      ...(process.stdout.columns === undefined ? {} : { COLUMNS: String(process.stdout.columns) }),
    },
    stdio: ["ignore", show ? "inherit" : "pipe", "inherit"],
  });
  let output = "";
  child.stdout?.setEncoding("utf8").on("data", (text: string) => (output += text));
  return new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code) => {
      if (code === 0) resolve(output);
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
  clients: readonly SdkClient[],
): Promise<DrivenClient[]> {
  const driven = await driveSdks({
    clients,
    cwd: folder,
    prefix: [...program, "run", "--"],
    env: { METER_HOME: home },
  });
  for (const { client, calls } of driven) {
    const failed = calls.filter(({ ok }) => !ok).length;
    say(
      `  ${client.padEnd(11)} ${String(calls.length).padStart(2)} calls, of which ${failed} failed as they should`,
    );
  }
  return driven;
}

/** A call's record is written when its response ends, a moment after the client has seen it. */
async function waitForRecords(home: string, count: number): Promise<void> {
  const deadline = performance.now() + 10_000;
  while (performance.now() < deadline) {
    const report: unknown = JSON.parse(await runMeter(home, ["report", "--by", "provider", "--json"], false));
    if (countRequests(report) >= count) return;
  }
  throw new Error(`the meter has fewer than ${count} records after ten seconds`);
}

function countRequests(report: unknown): number {
  const rows: unknown = typeof report === "object" && report !== null ? Reflect.get(report, "rows") : null;
  if (!Array.isArray(rows)) return 0;
  return rows.reduce((sum: number, row: { requests?: number }) => sum + (row.requests ?? 0), 0);
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

function heading(text: string): void {
  say(`\n── ${text} ${"─".repeat(Math.max(4, 76 - text.length))}\n`);
}

async function main(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "meter-demo-"));
  const home = mkdtempSync(join(folder, "home-"));
  const simulation = await createProviderSimulation();
  const parent = await createParentProxy(simulation);
  let started = false;
  try {
    heading("The daemon, with a home of its own");
    writeConfig(home, simulation, parent);
    await runMeter(home, ["start"]);
    started = true;

    heading("Two projects call their providers, each with its real SDK");
    say("apollo:");
    const apollo = await driveProject(home, createProjectFolder(folder, "apollo"), ["anthropic", "openai"]);
    say("hermes:");
    await driveProject(home, createProjectFolder(folder, "hermes"), ["google", "compatible", "openai"]);
    await simulation.settled();
    await waitForRecords(home, simulation.ledger.length);
    const stated = simulation.ledger.flatMap(({ tokens }) => {
      const { cacheWrite1hTokens: _, ...disjoint } = tokens;
      return Object.values(disjoint).filter((count) => count !== null);
    });
    const total = stated.reduce((sum, count) => sum + count, 0).toLocaleString("en");
    say(`\nIn the providers' own books: ${simulation.ledger.length} calls, ${total} tokens.`);

    heading("What it cost, by project");
    await runMeter(home, ["report", "--by", "project"]);
    heading("What it cost, by model");
    await runMeter(home, ["report", "--by", "model"]);
    heading("What was seen, metered and not metered");
    await runMeter(home, ["status"]);

    const cached = apollo[0]?.calls.find(({ name }) => name.includes("one-hour cache"));
    if (cached?.responseId != null) {
      heading(`Why one of them cost what it cost: ${cached.name}`);
      await runMeter(home, ["explain", cached.responseId]);
    }

    if (keep) {
      heading("Still running");
      say(`export METER_HOME=${home}`);
      say("npx meter report --by day        what was spent");
      say("npx meter run -- node agent.ts   a program of yours, against the simulated providers");
      say("Ctrl-C ends it and removes its home.");
      await new Promise((resolve) => process.once("SIGINT", resolve));
    }
  } finally {
    if (started) await runMeter(home, ["stop"]);
    await parent.close();
    await simulation.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

await main();
