import { isObject } from "../../../values/json-object.ts";
import { NO_TOKENS, readCount } from "../../usage/token-counts.ts";
import { type LogEntry, type LogFault, type LogReader, NOT_STATED } from "../log-entry.ts";
import {
  entryStep,
  type Members,
  membersOf,
  noStep,
  objectsOf,
  readId,
  readText,
  readTime,
} from "./members.ts";
import type { NoState } from "./opencode-log.ts";

/**
 * Reads the threads of Amp (`threads/T-*.json`): the usage of each message, else the events of the ledger. The ledger's input
 * includes cached input without saying how much, so the fresh input of these calls is unknown, and so is their cost.
 */
export const ampLog: LogReader<NoState> = {
  needles: [],
  start: () => ({}),
  read(state, item) {
    const thread = membersOf(item);
    const id = readText(thread.id);
    if (id === null) return noStep(state);
    const entries: LogEntry[] = [];
    const faults: LogFault[] = [];
    const add = (entry: LogEntry | null, fault: LogFault | null) => {
      if (entry !== null) entries.push(entry);
      if (fault !== null) faults.push(fault);
    };
    const stated = new Set<string>();
    for (const [index, message] of objectsOf(thread.messages).entries()) {
      if (message.role !== "assistant" || !isObject(message.usage)) continue;
      stated.add(readId(message.messageId));
      const entry = ofMessage(id, message, message.usage, index + 1);
      add(entry, entry === null ? "without_time" : null);
    }
    for (const [index, event] of objectsOf(membersOf(thread.usageLedger).events).entries()) {
      if (stated.has(readId(event.toMessageId))) continue;
      const entry = ofEvent(id, event, index + 1);
      add(entry, entry === null ? "without_time" : "cache_not_stated");
    }
    return entryStep(state, entries, faults);
  },
  end: () => [],
};

const entryOf = (thread: string, call: unknown, model: unknown, at: number, line: number) => ({
  ...NOT_STATED,
  agent: "amp" as const,
  key: `${thread}/${readId(call)}`,
  line,
  scope: "call" as const,
  at,
  provider: providerOf(readText(model)),
  model: readText(model) ?? "unknown",
  session: thread,
});

function ofMessage(thread: string, message: Members, usage: Members, line: number): LogEntry | null {
  const at = readTime(usage.timestamp) ?? readTime(message.timestamp);
  if (at === null) return null;
  const input = readCount(usage.inputTokens);
  const output = readCount(usage.outputTokens);
  return {
    ...entryOf(thread, message.messageId, usage.model, at, line),
    tokens: {
      promptTokens: input,
      cacheReadTokens: readCount(usage.cacheReadInputTokens),
      cacheWriteTokens: readCount(usage.cacheCreationInputTokens),
      cacheWrite1hTokens: null,
      completionTokens: output,
      thinkingTokens: null,
    },
    tokensComplete: input !== null && output !== null,
  };
}

function ofEvent(thread: string, event: Members, line: number): LogEntry | null {
  const at = readTime(event.timestamp);
  if (at === null) return null;
  return {
    ...entryOf(thread, event.toMessageId ?? event.id, event.model, at, line),
    tokens: { ...NO_TOKENS, completionTokens: readCount(membersOf(event.tokens).output) },
    tokensComplete: false,
  };
}

/** Amp names the model and not its provider. */
function providerOf(model: string | null): string {
  if (model === null) return "unknown";
  if (model.startsWith("claude")) return "anthropic";
  if (/^(gpt|o\d)/.test(model)) return "openai";
  return model.startsWith("gemini") ? "gemini" : "unknown";
}
