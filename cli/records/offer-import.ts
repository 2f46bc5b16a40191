import { statSync } from "node:fs";
import process from "node:process";
import { findUserHome } from "../../adapters/files/meter-home.ts";
import type { LogAgent } from "../../core/metering/agent-logs/log-entry.ts";
import {
  type LogLocation,
  type LogPlaces,
  logLocations,
  type ReportLocation,
  reportLocations,
} from "../../core/metering/agent-logs/log-locations.ts";
import { formatBytes } from "../../core/values/text/format-bytes.ts";
import { formatQuantity } from "../../core/values/text/format-quantity.ts";
import type { CommandContext } from "../program/command-context.ts";
import { confirm } from "../program/confirm.ts";

/** Returns the folders in which agents write logs. */
export function findLogLocations(env: CommandContext["env"]): LogLocation[] {
  const places = placesOf(env);
  return places === null ? [] : logLocations(places);
}

/** Returns the folders in which agents write reports of their own usage. */
export function findReportLocations(env: CommandContext["env"]): ReportLocation[] {
  const places = placesOf(env);
  return places === null ? [] : reportLocations(places);
}

function placesOf(env: CommandContext["env"]): LogPlaces | null {
  const home = (process.platform === "win32" ? env.USERPROFILE : env.HOME) ?? findUserHome();
  return home === null ? null : { env, home, platform: process.platform };
}

/** The agents as their makers write them. */
const TITLES: Readonly<Record<LogAgent, string>> = {
  claude: "Claude Code",
  codex: "Codex",
  gemini: "Gemini CLI",
  opencode: "opencode",
  qwen: "Qwen Code",
  copilot: "Copilot CLI",
  goose: "goose",
  amp: "Amp",
  cline: "Cline",
  roo: "Roo Code",
  kilo: "Kilo Code",
  pi: "pi",
  droid: "Droid",
};

/** Returns the lines that name the import, if an agent has logs on this machine. Nothing is imported without the command. */
export function importOffer(env: CommandContext["env"]): string[] {
  const agents = new Set(
    findLogLocations(env)
      .filter(({ folder }) => statSync(folder, { throwIfNoEntry: false })?.isDirectory() === true)
      .map(({ agent }) => TITLES[agent]),
  );
  return agents.size === 0
    ? []
    : [`Logs of past usage were found: ${[...agents].join(", ")}. Import them: meter import`];
}

/** Whether a person can be asked: both sides are a terminal. */
const isTerminal = ({ stdin, stdout }: Pick<CommandContext, "stdin" | "stdout">) =>
  [stdin, stdout].every((stream) => (stream as { isTTY?: boolean }).isTTY === true);

/**
 * Offers to import past usage: asks on a terminal, otherwise names the command. With `isWanted`, imports or leaves it without
 * asking. Never asks if `canAsk` is false.
 */
export async function offerImport(
  context: CommandContext,
  { isWanted, canAsk = true }: { readonly isWanted: boolean | undefined; readonly canAsk?: boolean },
  runImport: () => Promise<unknown>,
): Promise<void> {
  if (isWanted === false) return;
  const lines = importOffer(context.env);
  if (isWanted === true) return void (await runImport());
  if (lines.length === 0) return;
  if (!canAsk || !isTerminal(context)) return lines.forEach((line) => void context.print(line));
  const found = await countLogs(context.env);
  if (found.length === 0) return;
  context.print(
    ["", "Logs of past usage were found. They are only read, and stay on this machine:", ...found].join("\n"),
  );
  if (await confirm(context, "Import them now?")) await runImport();
  else context.print("Import them later: meter import");
}

/** Describes the logs of each agent: `  Claude Code: 1,204 files, 310 MB`. */
async function countLogs(env: CommandContext["env"]): Promise<string[]> {
  const { findLogFiles } = await import("../../adapters/agent-logs/find-log-files.ts");
  const files = Map.groupBy(await findLogFiles(findLogLocations(env)), ({ agent }) => agent);
  return [...files].map(([agent, found]) => {
    const bytes = found.reduce((sum, { size }) => sum + size, 0);
    return `  ${TITLES[agent]}: ${formatQuantity(found.length, "file")}, ${formatBytes(bytes)}`;
  });
}
