import { isObject } from "../../../values/json-object.ts";
import { readCount, splitTotal } from "../../usage/token-counts.ts";
import { type LogEntry, type LogReader, NOT_STATED } from "../log-entry.ts";
import {
  entryStep,
  faultStep,
  firstText,
  type Members,
  membersOf,
  noStep,
  readText,
  readTime,
} from "./members.ts";

/** Input, cache reads, cache writes, output, reasoning. */
type Counts = readonly [number, number, number, number, number];

/** What the lines read so far state. */
export interface CopilotState {
  readonly session: string | null;
  readonly cwd: string | null;
  readonly branch: string | null;
  readonly version: string | null;
  /** The counts of each model at the last shutdown. */
  readonly models: Readonly<Record<string, Counts>>;
}

const ZERO: Counts = [0, 0, 0, 0, 0];

/**
 * Reads the events of GitHub Copilot CLI (`session-state/<id>/events.jsonl`). Each shutdown of a session states the usage of each
 * model since its beginning, so an entry is the difference to the shutdown before. Input includes cache reads and writes; output
 * includes reasoning. A plan covers the usage.
 */
export const copilotLog: LogReader<CopilotState> = {
  needles: ["session.start", "session.shutdown"],
  start: ({ session }) => ({ session, cwd: null, branch: null, version: null, models: {} }),
  read(state, item, line) {
    const event = membersOf(item);
    const data = membersOf(event.data);
    if (event.type === "session.start") {
      const context = membersOf(data.context);
      return noStep({
        ...state,
        session: readText(data.sessionId) ?? state.session,
        version: firstText(data.copilotVersion, data.version) ?? state.version,
        cwd: readText(context.cwd) ?? state.cwd,
        branch: readText(context.branch) ?? state.branch,
      });
    }
    if (event.type !== "session.shutdown" || !isObject(data.modelMetrics)) return noStep(state);
    const at = readTime(event.timestamp);
    if (at === null) return faultStep(state, "without_time");
    const models = new Map(Object.entries(state.models));
    const entries: LogEntry[] = [];
    for (const [model, metrics] of Object.entries(data.modelMetrics)) {
      const counts = readCounts(membersOf(membersOf(metrics).usage));
      const before = models.get(model) ?? ZERO;
      if (isEqual(counts, before)) continue;
      // The counts fell, so the session began to count from 0.
      const base = counts.some((count, index) => count < before[index]!) ? ZERO : before;
      models.set(model, counts);
      entries.push(createEntry(state, model, counts, base, at, line));
    }
    return entries.length === 0
      ? faultStep(state, "repeated_counter")
      : entryStep({ ...state, models: Object.fromEntries(models) }, entries);
  },
  end: () => [],
};

const isEqual = (one: Counts, other: Counts) => one.every((count, index) => count === other[index]);

function readCounts(usage: Members): Counts {
  return [
    readCount(usage.inputTokens) ?? 0,
    readCount(usage.cacheReadTokens) ?? 0,
    readCount(usage.cacheWriteTokens) ?? 0,
    readCount(usage.outputTokens) ?? 0,
    readCount(usage.reasoningTokens) ?? 0,
  ];
}

function createEntry(
  state: CopilotState,
  model: string,
  counts: Counts,
  base: Counts,
  at: number,
  line: number,
): LogEntry {
  const [input, read, written, output, reasoning] = counts.map((count, index) => count - base[index]!) as [
    number,
    number,
    number,
    number,
    number,
  ];
  const inputs = splitTotal(input, [read, written]);
  const outputs = splitTotal(output, [reasoning]);
  return {
    ...NOT_STATED,
    agent: "copilot",
    key: `${state.session}/${model}/${counts.join(",")}`,
    line,
    scope: "session",
    at,
    provider: "github-copilot",
    model,
    billing: "plan",
    tokens: {
      promptTokens: inputs.rest,
      cacheReadTokens: inputs.parts[0] as number,
      cacheWriteTokens: inputs.parts[1] as number,
      cacheWrite1hTokens: null,
      completionTokens: outputs.rest,
      thinkingTokens: outputs.parts[0] as number,
    },
    tokensComplete: inputs.consistent && outputs.consistent,
    session: state.session,
    clientVersion: state.version,
    cwd: state.cwd,
    branch: state.branch,
  };
}
