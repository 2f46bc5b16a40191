import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import type { StoredRequest } from "../../daemon/store/port/records.ts";
import { createParentProxy } from "../simulation/mod.ts";
import { createAgentAnswers } from "./agent-answers.rig.ts";
import {
  createHome,
  type MeterProcess,
  onNodeOnly,
  removeHome,
  simulationConfig,
  startMeter,
  waitFor,
} from "./meter-process.rig.ts";
import { createScriptedProvider, type ScriptedProvider } from "./scripted-provider.rig.ts";

/**
 * A folder in which npm has installed agents and SDKs. They are large and change weekly, so they are not packages of
 * this project.
 */
export const agentsFolder = process.env.METER_TEST_AGENTS ?? "";

/** Why tests with real agents are skipped; false if they are not. */
export const skipWithoutAgents =
  onNodeOnly || (agentsFolder === "" && "METER_TEST_AGENTS names no folder with agents from npm");

/** The hosts that agents call. */
const HOSTS = ["api.anthropic.com", "api.openai.com", "generativelanguage.googleapis.com", "chatgpt.com"];

/** A meter whose providers answer agents. */
export interface AgentMeter {
  readonly meter: MeterProcess;
  readonly provider: ScriptedProvider;
  close(): Promise<void>;
}

/** Starts a meter with further lines of its configuration. */
export async function startAgentMeter(
  lines: readonly string[] = [],
  options: { readonly webSockets?: boolean } = {},
): Promise<AgentMeter> {
  const provider = await createScriptedProvider(HOSTS, createAgentAnswers(), options);
  const parent = await createParentProxy(provider);
  const closeProvider = async () => {
    await parent.close();
    provider.close();
  };
  try {
    const meter = await startMeter(createHome(simulationConfig(parent, provider, lines)));
    return {
      meter,
      provider,
      async close() {
        await meter.stop();
        await closeProvider();
        removeHome(meter.home);
      },
    };
  } catch (cause) {
    await closeProvider();
    throw cause;
  }
}

/** Runs `work` with a new home and a new working directory of an agent, and deletes both. */
export async function withAgentFolders<T>(work: (home: string, cwd: string) => Promise<T>): Promise<T> {
  const [home = "", cwd = ""] = ["agent-home-", "agent-work-"].map((name) =>
    mkdtempSync(join(tmpdir(), name)),
  );
  try {
    return await work(home, cwd);
  } finally {
    for (const each of [home, cwd]) rmSync(each, { recursive: true, force: true });
  }
}

/** Returns the version of a package in the folder; null if it is not installed. */
export function findAgentVersion(name: string): string | null {
  const manifest = join(agentsFolder, "node_modules", name, "package.json");
  if (!existsSync(manifest)) return null;
  return (JSON.parse(readFileSync(manifest, "utf8")) as { version: string }).version;
}

/** Returns the ids of the records that a meter has. */
export const readKnownIds = async (meter: MeterProcess): Promise<ReadonlySet<string>> =>
  new Set((await meter.rows()).map(({ requestId }) => requestId));

/** Resolves with the records that a meter has in addition to the known ones, once all of their callers are known. */
export const waitForNewRecords = (
  meter: MeterProcess,
  known: ReadonlySet<string>,
): Promise<StoredRequest[]> =>
  waitFor("its records", async () => {
    const rows = (await meter.rows()).filter(({ requestId }) => !known.has(requestId));
    const isFinal = rows.every(({ attributionDueAt }) => attributionDueAt === undefined);
    return rows.length > 0 && isFinal && rows;
  });
