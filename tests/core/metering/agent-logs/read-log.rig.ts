import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import {
  type LogEntry,
  type LogFault,
  type LogFile,
  type LogReader,
  largerEntry,
} from "../../../../core/metering/agent-logs/log-entry.ts";
import type { LogFormatName } from "../../../../core/metering/agent-logs/log-formats.ts";

/** What a reader found in the items of one file. */
export interface ReadLog {
  readonly entries: readonly LogEntry[];
  readonly faults: Partial<Record<LogFault, number>>;
}

/** The file name that is given for the samples. */
export const SAMPLE_FILE: LogFile = { session: "file-session", modifiedAt: Date.UTC(2026, 7, 9) };

/** Reads items with a reader. The state goes through JSON after each item, as it does between two imports. */
export function readLog(reader: LogReader, items: readonly unknown[], file: LogFile = SAMPLE_FILE): ReadLog {
  const entries: LogEntry[] = [];
  const faults: Partial<Record<LogFault, number>> = {};
  let state = reader.start(file);
  for (const [index, item] of items.entries()) {
    const step = reader.read(state, item, index + 1);
    entries.push(...step.entries);
    for (const fault of step.faults) faults[fault] = (faults[fault] ?? 0) + 1;
    state = JSON.parse(JSON.stringify(step.state)) as object;
  }
  return { entries: [...entries, ...reader.end(state)], faults };
}

/** Merges entries as the import does: for each key, the largest. */
export function mergeEntries(entries: readonly LogEntry[]): Map<string, LogEntry> {
  const merged = new Map<string, LogEntry>();
  for (const entry of entries) {
    const key = `${entry.agent} ${entry.key}`;
    const known = merged.get(key);
    merged.set(key, known === undefined ? entry : largerEntry(known, entry));
  }
  return merged;
}

/** The lines of a sample. All data is invented. */
export function readSample(name: LogFormatName | "codex-fork" | "codex-old"): unknown[] {
  const path = fileURLToPath(new URL(`samples/${name}.jsonl`, import.meta.url));
  return readFileSync(path, "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as unknown);
}

/** An entry in one line: model, prompt, cache reads, writes, of these for an hour, completion, thinking. */
export function summarise({ model, tokens, ...entry }: LogEntry): string {
  const counts = [
    tokens.promptTokens,
    tokens.cacheReadTokens,
    tokens.cacheWriteTokens,
    tokens.cacheWrite1hTokens,
    tokens.completionTokens,
    tokens.thinkingTokens,
  ].map((count) => (count === null ? "-" : String(count)));
  return `${entry.key} ${entry.provider} ${model} ${counts.join(" ")}${entry.tokensComplete ? "" : " incomplete"}`;
}
