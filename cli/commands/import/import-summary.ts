import type { LogAgent, LogFault } from "../../../core/metering/agent-logs/log-entry.ts";
import type { RequestRecord, TokenCounts } from "../../../core/values/record.ts";

/** What an import found and changed, for one agent. */
export interface AgentSummary {
  readonly agent: LogAgent;
  /** Files and databases of the agent. */
  files: number;
  /** Those of them that were read: new, or changed since the last import. */
  filesRead: number;
  filesFailed: number;
  lines: number;
  /** New records, and what they add up to. */
  records: number;
  tokens: { -readonly [Name in keyof TokenCounts]: number };
  costPicoUsd: bigint;
  unpriced: number;
  /** Records that were stored before with fewer tokens. */
  grown: number;
  /** Calls that were imported before. */
  known: number;
  /** Calls that passed through the proxy, which counted them. */
  onWire: number;
  /** Calls from before the date of a prune. */
  pruned: number;
  /** Sums of sessions or turns that overlap with calls through the proxy. */
  overlapping: number;
  faults: Partial<Record<LogFault, number>>;
}

/** Returns an empty summary. */
export function emptySummary(agent: LogAgent): AgentSummary {
  return {
    agent,
    files: 0,
    filesRead: 0,
    filesFailed: 0,
    lines: 0,
    records: 0,
    tokens: {
      promptTokens: 0,
      cacheReadTokens: 0,
      cacheWriteTokens: 0,
      cacheWrite1hTokens: 0,
      completionTokens: 0,
      thinkingTokens: 0,
    },
    costPicoUsd: 0n,
    unpriced: 0,
    grown: 0,
    known: 0,
    onWire: 0,
    pruned: 0,
    overlapping: 0,
    faults: {},
  };
}

/** Adds a new record to a summary. */
export function addRecord(summary: AgentSummary, { tokens, costPicoUsd }: RequestRecord): void {
  summary.records += 1;
  for (const name of Object.keys(summary.tokens) as (keyof TokenCounts)[])
    summary.tokens[name] += tokens[name] ?? 0;
  if (costPicoUsd === null) summary.unpriced += 1;
  else summary.costPicoUsd += costPicoUsd;
}
