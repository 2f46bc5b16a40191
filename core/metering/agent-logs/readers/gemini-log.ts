import { isObject } from "../../../values/json-object.ts";
import { addCounts, readCount, splitTotal } from "../../usage/token-counts.ts";
import { type LogEntry, type LogFault, type LogReader, type LogStep, NOT_STATED } from "../log-entry.ts";
import {
  entryStep,
  faultStep,
  firstText,
  type Members,
  membersOf,
  noStep,
  objectsOf,
  readId,
  readText,
  readTime,
} from "./members.ts";

/** The session of a file. */
export interface SessionState {
  readonly session: string | null;
  readonly parent: string | null;
}

/** The counts of Google's `usageMetadata`, by the names that each agent gives them. */
interface GoogleCounts {
  /** All input except that of tools, cached input included. */
  readonly prompt: unknown;
  readonly cached: unknown;
  readonly candidates: unknown;
  readonly thoughts: unknown;
  readonly toolUse: unknown;
}

/**
 * Reads the chats of Gemini CLI (`tmp/<project>/chats/session-*.jsonl`; before 2026 one JSON document).
 *
 * - A message is written again when its counts are known: of the lines with the same id, the one with the larger counts is used.
 * - Input includes cached input; thoughts and the input of tools are counted beside it.
 * - What was rewound was billed, so `$rewindTo` removes nothing.
 */
export const geminiLog: LogReader<SessionState> = {
  needles: ['"tokens"', '"sessionId"'],
  start: ({ session }) => ({ session, parent: null }),
  read(state, item, line) {
    const members = membersOf(item);
    const next = {
      session: readText(members.sessionId) ?? state.session,
      parent: readText(members.parentSessionId) ?? state.parent,
    };
    if (!Array.isArray(members.messages)) return readMessage(next, members, line);
    const steps = objectsOf(members.messages).map((message, index) => readMessage(next, message, index + 1));
    return entryStep(
      next,
      steps.flatMap(({ entries }) => entries),
      steps.flatMap(({ faults }) => faults),
    );
  },
  end: () => [],
};

function readMessage(state: SessionState, message: Members, line: number): LogStep<SessionState> {
  const id = readText(message.id);
  if (message.type !== "gemini" || id === null) return noStep(state);
  if (!isObject(message.tokens)) return faultStep(state, "placeholder");
  const { input, cached, output, thoughts, tool } = message.tokens;
  const counts = { prompt: input, cached, candidates: output, thoughts, toolUse: tool };
  return readGoogleCounts(state, counts, {
    ...NOT_STATED,
    agent: "gemini",
    key: `${state.session}/${id}`,
    line,
    scope: "call",
    at: readTime(message.timestamp) ?? 0,
    provider: "gemini",
    model: readText(message.model) ?? "unknown",
    session: state.session,
    parentSession: state.parent,
  });
}

/**
 * Reads the chats of Qwen Code (`projects/<project>/chats/*.jsonl`), a fork of Gemini CLI. Its lines state Google's
 * `usageMetadata`.
 */
export const qwenLog: LogReader<SessionState> = {
  needles: ['"usageMetadata"'],
  start: ({ session }) => ({ session, parent: null }),
  read(state, item, line) {
    const members = membersOf(item);
    if (members.type !== "assistant" || !isObject(members.usageMetadata)) return noStep(state);
    const usage = members.usageMetadata;
    const session = readText(members.sessionId) ?? state.session;
    const counts = {
      prompt: usage.promptTokenCount,
      cached: usage.cachedContentTokenCount,
      candidates: usage.candidatesTokenCount,
      thoughts: usage.thoughtsTokenCount,
      toolUse: usage.toolUsePromptTokenCount,
    };
    const id =
      firstText(members.uuid, members.id) ??
      `${readId(members.timestamp)}/${Object.values(counts).map(readId).join(",")}`;
    const model = firstText(members.model, membersOf(members.message).model) ?? "unknown";
    return readGoogleCounts(state, counts, {
      ...NOT_STATED,
      agent: "qwen",
      key: `${session}/${id}`,
      line,
      scope: "call",
      at: readTime(members.timestamp) ?? 0,
      provider: model.startsWith("qwen") ? "alibaba" : "unknown",
      model,
      session,
      cwd: readText(members.cwd),
      branch: readText(members.gitBranch),
      clientVersion: readText(members.version),
    });
  },
  end: () => [],
};

function readGoogleCounts(
  state: SessionState,
  counts: GoogleCounts,
  entry: Omit<LogEntry, "tokens" | "tokensComplete">,
): LogStep<SessionState> {
  if (entry.at === 0) return faultStep(state, "without_time");
  const prompt = readCount(counts.prompt);
  const completion = readCount(counts.candidates) ?? 0;
  const thoughts = readCount(counts.thoughts) ?? 0;
  if (prompt === null) return faultStep(state, "placeholder");
  const inputs = splitTotal(prompt, [readCount(counts.cached) ?? 0]);
  const faults: LogFault[] = inputs.consistent ? [] : ["inconsistent"];
  const tokens = {
    promptTokens: addCounts(inputs.rest, readCount(counts.toolUse)),
    cacheReadTokens: inputs.parts[0] as number,
    cacheWriteTokens: null,
    cacheWrite1hTokens: null,
    completionTokens: completion,
    thinkingTokens: thoughts,
  };
  return entryStep(state, [{ ...entry, tokens, tokensComplete: inputs.consistent }], faults);
}
