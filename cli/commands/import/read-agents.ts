import { UsageError } from "clipanion";
import { LOG_AGENTS, type LogAgent } from "../../../core/metering/agent-logs/log-entry.ts";

/** Reads the names of agents on a command line. None, or `all`, means all of them. */
export function readAgents(names: readonly string[]): readonly LogAgent[] {
  const unknown = names.find((name) => name !== "all" && !LOG_AGENTS.some((agent) => agent === name));
  if (unknown !== undefined)
    throw new UsageError(`Unknown agent: ${unknown}. Expected: ${LOG_AGENTS.join(", ")} or all.`);
  return names.length === 0 || names.includes("all")
    ? LOG_AGENTS
    : LOG_AGENTS.filter((agent) => names.includes(agent));
}
