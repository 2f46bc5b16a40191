import { isObject } from "../../../values/json-object.ts";
import { readCount } from "../../usage/token-counts.ts";
import { type LogReader, NOT_STATED, totalTokens } from "../log-entry.ts";
import {
  entryStep,
  faultStep,
  firstText,
  membersOf,
  noStep,
  readText,
  readTime,
  readUsd,
} from "./members.ts";

/** What the first line states. */
export interface PiState {
  readonly session: string | null;
  readonly parent: string | null;
  readonly cwd: string | null;
}

/**
 * Reads the sessions of pi (`sessions/<folder>/<time>_<id>.jsonl`). A branch copies lines with their ids and times, which are the
 * key. Input excludes cached input.
 */
export const piLog: LogReader<PiState> = {
  needles: ['"usage"', '"session"'],
  start: ({ session }) => ({ session, parent: null, cwd: null }),
  read(state, item, line) {
    const members = membersOf(item);
    if (members.type === "session")
      return noStep({
        session: readText(members.id) ?? state.session,
        parent: firstText(members.parentSession, members.branchedFrom),
        cwd: readText(members.cwd),
      });
    const message = membersOf(members.message);
    if (members.type !== "message" || message.role !== "assistant" || !isObject(message.usage))
      return noStep(state);
    const at = readTime(message.timestamp) ?? readTime(members.timestamp);
    if (at === null) return faultStep(state, "without_time");
    const { usage } = message;
    const input = readCount(usage.input);
    const output = readCount(usage.output);
    const entry = {
      ...NOT_STATED,
      agent: "pi" as const,
      key: `${readText(members.id) ?? ""}/${at}`,
      line,
      scope: "call" as const,
      at: readTime(members.timestamp) ?? at,
      provider: readText(message.provider) ?? "unknown",
      model: readText(message.model) ?? "unknown",
      tokens: {
        promptTokens: input,
        cacheReadTokens: readCount(usage.cacheRead),
        cacheWriteTokens: readCount(usage.cacheWrite),
        cacheWrite1hTokens: null,
        completionTokens: output,
        thinkingTokens: null,
      },
      tokensComplete: input !== null && output !== null,
      statedCostUsd: readUsd(membersOf(usage.cost).total),
      responseId: readText(message.responseId),
      session: state.session,
      parentSession: state.parent,
      cwd: state.cwd,
    };
    return totalTokens(entry) === 0 ? faultStep(state, "placeholder") : entryStep(state, [entry]);
  },
  end: () => [],
};
