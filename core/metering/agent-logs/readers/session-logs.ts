import { isObject } from "../../../values/json-object.ts";
import type { Millis } from "../../../values/time.ts";
import { readCount, splitTotal } from "../../usage/token-counts.ts";
import { type LogReader, NOT_STATED } from "../log-entry.ts";
import {
  entryStep,
  faultStep,
  firstText,
  membersOf,
  noStep,
  parseJson,
  readMillis,
  readText,
  readTime,
  readUsd,
} from "./members.ts";
import type { NoState } from "./opencode-log.ts";

/**
 * Reads the sessions of goose: rows of `sessions`, which state only sums. The sums grow while a session lasts, so its id is the
 * key. Whether the input includes cached input is not documented: if no counts of caches are stated, the input is used as stated.
 */
export const gooseLog: LogReader<NoState> = {
  needles: [],
  start: () => ({}),
  read(state, item, line) {
    const row = membersOf(item);
    const id = readText(row.id);
    const input = readCount(row.accumulated_input_tokens);
    const output = readCount(row.accumulated_output_tokens);
    if (id === null) return noStep(state);
    if (input === null || output === null || input + output === 0) return faultStep(state, "placeholder");
    const at = readTime(row.updated_at) ?? readTime(row.created_at);
    if (at === null) return faultStep(state, "without_time");
    const config = membersOf(parseJson(row.model_config_json));
    const inputs = splitTotal(input, [
      readCount(row.accumulated_cache_read_tokens),
      readCount(row.accumulated_cache_write_tokens),
    ]);
    const entry = {
      ...NOT_STATED,
      agent: "goose" as const,
      key: id,
      line,
      scope: "session" as const,
      at,
      provider: readText(row.provider_name) ?? "unknown",
      model: firstText(config.model_name, config.model) ?? "unknown",
      tokens: {
        promptTokens: inputs.rest,
        cacheReadTokens: inputs.parts[0] ?? null,
        cacheWriteTokens: inputs.parts[1] ?? null,
        cacheWrite1hTokens: null,
        completionTokens: output,
        thinkingTokens: null,
      },
      tokensComplete: inputs.consistent,
      statedCostUsd: readUsd(row.accumulated_cost),
      session: id,
      parentSession: readText(row.parent_session_id),
      cwd: readText(row.working_dir),
    };
    return entryStep(state, [entry], inputs.consistent ? [] : ["inconsistent"]);
  },
  end: () => [],
};

/** The session that a file is named after, and when it was written. */
export interface FileState {
  readonly session: string | null;
  readonly modifiedAt: Millis;
}

/**
 * Reads the settings of a session of Droid (`sessions/<folder>/<session>.settings.json`), which state its sums. Their time is that of
 * the file, but never before the time at which the session chose its provider, which they state: a copy or a backup may give the
 * file any time. Decision: thinking is a part of the output, as it is at the providers.
 */
export const droidLog: LogReader<FileState> = {
  needles: [],
  start: ({ session, modifiedAt }) => ({ session, modifiedAt }),
  read(state, item, line) {
    const members = membersOf(item);
    if (!isObject(members.tokenUsage) || state.session === null) return noStep(state);
    const usage = members.tokenUsage;
    const input = readCount(usage.inputTokens);
    const output = readCount(usage.outputTokens);
    if (input === null || output === null || input + output === 0) return faultStep(state, "placeholder");
    const at = Math.max(readMillis(state.modifiedAt) ?? 0, readTime(members.providerLockTimestamp) ?? 0);
    if (at === 0) return faultStep(state, "without_time");
    const outputs = splitTotal(output, [readCount(usage.thinkingTokens)]);
    const entry = {
      ...NOT_STATED,
      agent: "droid" as const,
      key: state.session,
      line,
      scope: "session" as const,
      at,
      provider: readText(members.providerLock) ?? "unknown",
      model: readText(members.model) ?? "unknown",
      tokens: {
        promptTokens: input,
        cacheReadTokens: readCount(usage.cacheReadTokens),
        cacheWriteTokens: readCount(usage.cacheCreationTokens),
        cacheWrite1hTokens: null,
        completionTokens: outputs.rest,
        thinkingTokens: outputs.parts[0] ?? null,
      },
      tokensComplete: outputs.consistent,
      session: state.session,
    };
    return entryStep(state, [entry], outputs.consistent ? [] : ["inconsistent"]);
  },
  end: () => [],
};
