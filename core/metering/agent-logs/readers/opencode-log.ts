import { isObject } from "../../../values/json-object.ts";
import { readCount } from "../../usage/token-counts.ts";
import type { LogAgent, LogReader } from "../log-entry.ts";
import { NOT_STATED, totalTokens } from "../log-entry.ts";
import {
  entryStep,
  faultStep,
  firstText,
  membersOf,
  noStep,
  parseJson,
  readText,
  readTime,
  readUsd,
} from "./members.ts";

/** Rows do not depend on each other. */
export type NoState = Readonly<Record<string, never>>;

/** Creates the reader of messages of opencode, or of Kilo's command line program, which is built on it. */
function createReader(agent: LogAgent): LogReader<NoState> {
  return {
    needles: [],
    start: () => ({}),
    read(state, item, line) {
      const row = membersOf(item);
      // A row of a database, or a file with the message itself.
      const message =
        typeof row.data === "string" ? membersOf(parseJson(row.data)) : membersOf(row.data ?? row);
      if (message.role !== "assistant" && message.type !== "assistant") return noStep(state);
      if (!isObject(message.tokens)) return faultStep(state, "placeholder");
      const time = membersOf(message.time);
      const created = readTime(time.created);
      if (created === null) return faultStep(state, "without_time");
      const cache = membersOf(message.tokens.cache);
      const named = membersOf(message.model);
      const provider = firstText(message.providerID, named.providerID) ?? "unknown";
      const model = firstText(message.modelID, named.modelID, named.id) ?? "unknown";
      const path = membersOf(message.path);
      const entry = {
        ...NOT_STATED,
        agent,
        key: `${created}/${provider}/${model}`,
        line,
        scope: "call" as const,
        at: readTime(time.completed) ?? created,
        provider,
        model,
        tokens: {
          promptTokens: readCount(message.tokens.input),
          cacheReadTokens: readCount(cache.read),
          cacheWriteTokens: readCount(cache.write),
          cacheWrite1hTokens: null,
          completionTokens: readCount(message.tokens.output),
          thinkingTokens: readCount(message.tokens.reasoning),
        },
        tokensComplete: readCount(message.tokens.input) !== null && readCount(message.tokens.output) !== null,
        statedCostUsd: readUsd(message.cost),
        session: firstText(row.session_id, message.sessionID),
        turn: readText(message.parentID),
        agentKind: firstText(message.agent, message.mode),
        cwd: firstText(path.cwd, path.root),
      };
      return totalTokens(entry) === 0 ? faultStep(state, "placeholder") : entryStep(state, [entry]);
    },
    end: () => [],
  };
}

/**
 * Reads the messages of opencode: rows of `message` or `session_message`, or files of older versions.
 *
 * - A fork copies messages under new ids. The time to the millisecond and the model identify the call.
 * - Input excludes cached input; reasoning is counted beside the output.
 */
export const opencodeLog = createReader("opencode");

/** Reads the messages of Kilo's command line program. */
export const kiloLog = createReader("kilo");
