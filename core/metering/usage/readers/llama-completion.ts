import { isObject } from "../../../values/json-object.ts";
import { type AnswerFacts, defineApiReader, type MessageReader } from "../api-reader.ts";
import type { PickedMembers } from "../member-picker.ts";
import { addCounts, asObject, NO_TOKENS, readCount, splitTotal } from "../token-counts.ts";
import type { UsageFindings } from "../usage-report.ts";
import { openaiCompletions } from "./openai-chat.ts";

/** The counts of one prompt, or of several. */
interface Counts {
  readonly input: number;
  /** The part of the input that came from the cache; null if it is not stated. */
  readonly cached: number | null;
  readonly output: number;
}

/**
 * The completion API of llama.cpp's server (`/completion`, `/completions` and `/infill`).
 *
 * - `tokens_evaluated` is the whole prompt, **inclusive** of what came from the cache (`timings.cache_n`, absent in older
 *   servers). `tokens_cached` is the state of the slot and not a count of the cache.
 * - `tokens_predicted` is all output. Thinking is not stated separately.
 * - Every part of a stream states the counts so far, and the last one has `stop: true`.
 * - Several prompts in one request are answered by an array, or by one stream with several last parts. Their counts add up.
 *
 * Other servers on llama.cpp's usual port, such as LocalAI, answer `/completions` in OpenAI's form, which is read too.
 *
 * Source: ggml-org/llama.cpp, tools/server/README.md and server-task.cpp; 2026-11-23.
 */
export const llamaCompletion = defineApiReader({
  members: ["id", "model", "stop", "tokens_evaluated", "tokens_predicted", "timings", "usage", "choices"],
  keys: ["tokens_predicted", "usage"],
  promptMembers: ["prompt", "input_prefix", "input_suffix"],
  start: startCompletion,
});

function startCompletion(facts: AnswerFacts): MessageReader {
  const openai = openaiCompletions.start(facts);
  let isOpenai = false;
  let model: string | null = null;
  let finished: Counts | null = null;
  let unfinished: Counts | null = null;
  return {
    knowsModel: () => model !== null,
    read(message, whole) {
      model = message.string("model") ?? model;
      isOpenai ||= isObject(message.value("usage"));
      openai.read(message, whole);
      const counts = readCounts(message);
      if (counts === null) return;
      const isLast = whole || message.value("stop") === true;
      unfinished = isLast ? null : counts;
      if (isLast) finished = add(finished, counts);
    },
    end(ended) {
      if (isOpenai) return openai.end(ended);
      return findings(model, add(finished, unfinished), finished !== null && unfinished === null);
    },
  };
}

/** Returns the counts that a message states; null if it states none. */
function readCounts(message: PickedMembers): Counts | null {
  const input = readCount(message.value("tokens_evaluated"));
  const output = readCount(message.value("tokens_predicted"));
  const cached = readCount(asObject(message.value("timings")).cache_n);
  return input === null || output === null ? null : { input, cached, output };
}

/** Adds the counts of two prompts. Returns null if a sum exceeds the maximum. */
function add(one: Counts | null, other: Counts | null): Counts | null {
  if (one === null || other === null) return one ?? other;
  const input = addCounts(one.input, other.input);
  const output = addCounts(one.output, other.output);
  const cached = one.cached === null && other.cached === null ? null : addCounts(one.cached, other.cached);
  return input === null || output === null ? null : { input, cached, output };
}

function findings(model: string | null, counts: Counts | null, isFinal: boolean): UsageFindings {
  const { input, cached, output } = counts ?? NO_COUNTS;
  const inputs = splitTotal(input, [cached]);
  return {
    tokens: {
      ...NO_TOKENS,
      promptTokens: inputs.rest,
      cacheReadTokens: inputs.parts[0] as number | null,
      completionTokens: output,
    },
    tokensComplete: counts !== null && isFinal && inputs.consistent,
    model,
    responseId: null,
    serviceTier: null,
    extras: {},
    providerCostPicoUsd: null,
    unknownUsage: null,
  };
}

const NO_COUNTS = { input: null, cached: null, output: null };
