import { statSync } from "node:fs";
import { homedir } from "node:os";
import process from "node:process";
import type { LogAgent } from "../../core/metering/agent-logs/log-entry.ts";
import { type LogLocation, logLocations } from "../../core/metering/agent-logs/log-locations.ts";
import type { CommandContext } from "../program/command-context.ts";

/** Returns the folders in which agents write logs. */
export function findLogLocations(env: CommandContext["env"]): LogLocation[] {
  const home = (process.platform === "win32" ? env.USERPROFILE : env.HOME) ?? homedir();
  return logLocations({ env, home, platform: process.platform });
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
