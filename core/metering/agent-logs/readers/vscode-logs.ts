import { isObject } from "../../../values/json-object.ts";
import { readCount, splitTotal } from "../../usage/token-counts.ts";
import { type LogAgent, type LogEntry, type LogFault, type LogReader, NOT_STATED } from "../log-entry.ts";
import {
  entryStep,
  firstText,
  type Members,
  membersOf,
  noStep,
  objectsOf,
  parseJson,
  readText,
  readTime,
  readUsd,
} from "./members.ts";

/**
 * When Roo Code began to include cached input in `tokensIn` of calls with Anthropic's API (3.29.5, its pull request 8954). Calls
 * with OpenAI's API always included it. Decision: the same is assumed of Kilo Code, which descends from it.
 */
const ROO_INCLUDES_CACHE = Date.UTC(2025, 10, 1);

/** The task that a file's folder is named after. */
export interface TaskState {
  readonly session: string | null;
}

/**
 * Creates the reader of `tasks/<id>/ui_messages.json` of an extension of VS Code that descends from Cline. Each call is a message
 * `api_req_started` whose text is JSON. It is written without counts first. Some versions do not name the model.
 */
function createTaskReader(agent: LogAgent): LogReader<TaskState> {
  return {
    needles: [],
    start: ({ session }) => ({ session }),
    read(state, item) {
      const found: Found = { entries: [], faults: [] };
      const messages = Array.isArray(item) ? objectsOf(item) : [membersOf(item)];
      for (const [index, message] of messages.entries()) addCall(found, agent, state, message, index + 1);
      return entryStep(state, found.entries, found.faults);
    },
    end: () => [],
  };
}

interface Found {
  readonly entries: LogEntry[];
  readonly faults: LogFault[];
}

function addCall(
  found: Found,
  agent: LogAgent,
  { session }: TaskState,
  message: Members,
  line: number,
): void {
  if (message.type !== "say" || message.say !== "api_req_started") return;
  const call = membersOf(parseJson(message.text));
  const at = readTime(message.ts);
  const input = readCount(call.tokensIn);
  const output = readCount(call.tokensOut);
  if (at === null) return void found.faults.push("without_time");
  if (input === null || output === null || input + output === 0) return void found.faults.push("placeholder");
  const caches = [readCount(call.cacheReads), readCount(call.cacheWrites)] as const;
  const isInclusive = agent !== "cline" && (at >= ROO_INCLUDES_CACHE || call.apiProtocol === "openai");
  const inputs = splitTotal(input, isInclusive ? caches : []);
  const named = membersOf(message.modelInfo);
  const model = firstText(named.modelId, call.model, call.modelId);
  if (model === null) found.faults.push("hidden_model");
  found.entries.push({
    ...NOT_STATED,
    agent,
    key: `${session}/${at}`,
    line,
    scope: "call",
    at,
    provider: firstText(named.providerId, call.provider) ?? "unknown",
    model: model ?? "unknown",
    tokens: {
      // Parts that exceed the whole were never included in it.
      promptTokens: inputs.consistent ? inputs.rest : input,
      cacheReadTokens: caches[0],
      cacheWriteTokens: caches[1],
      cacheWrite1hTokens: null,
      completionTokens: output,
      thinkingTokens: null,
    },
    tokensComplete: true,
    statedCostUsd: readUsd(call.cost),
    session,
  });
}

/** Reads the tasks of Roo Code. */
export const rooLog = createTaskReader("roo");

/** Reads the tasks of Kilo Code. */
export const kiloTaskLog = createTaskReader("kilo");

/** Reads the tasks of Cline before it had sessions. */
export const clineTaskLog = createTaskReader("cline");

/**
 * Reads the sessions of Cline (`sessions/<id>/<id>.messages.json`). The last message of a turn states the usage of the turn. Input
 * excludes cached input.
 */
export const clineLog: LogReader<TaskState> = {
  needles: [],
  start: ({ session }) => ({ session }),
  read(state, item) {
    const document = membersOf(item);
    const session = readText(document.sessionId) ?? state.session;
    const found: Found = { entries: [], faults: [] };
    for (const [index, message] of objectsOf(document.messages).entries())
      addTurn(found, session, message, index + 1);
    return found.entries.length + found.faults.length === 0
      ? noStep(state)
      : entryStep(state, found.entries, found.faults);
  },
  end: () => [],
};

function addTurn(found: Found, session: string | null, message: Members, line: number): void {
  if (message.role !== "assistant" || !isObject(message.metrics)) return;
  const { metrics } = message;
  const at = readTime(message.ts);
  if (at === null) return void found.faults.push("without_time");
  const input = readCount(metrics.inputTokens);
  const output = readCount(metrics.outputTokens);
  if (input === null || output === null) return void found.faults.push("placeholder");
  const named = membersOf(message.modelInfo);
  found.entries.push({
    ...NOT_STATED,
    agent: "cline",
    key: `${session}/${readText(message.id) ?? at}`,
    line,
    scope: "turn",
    at,
    provider: readText(named.provider) ?? "unknown",
    model: readText(named.id) ?? "unknown",
    tokens: {
      promptTokens: input,
      cacheReadTokens: readCount(metrics.cacheReadTokens),
      cacheWriteTokens: readCount(metrics.cacheWriteTokens),
      cacheWrite1hTokens: null,
      completionTokens: output,
      thinkingTokens: null,
    },
    tokensComplete: true,
    statedCostUsd: readUsd(metrics.cost),
    session,
  });
}
