import { defineApiReader, type MessageReader } from "../api-reader.ts";
import type { PickedMembers } from "../member-picker.ts";
import { NO_TOKENS, readCount, splitTotal } from "../token-counts.ts";

const spec = {
  members: ["model", "done", "done_reason", "prompt_eval_count", "prompt_eval_cached_count", "eval_count"],
  keys: ["done", "prompt_eval_count"],
  framing: "lines" as const,
};

/**
 * Ollama's /api/chat: JSON lines, of which the last has `done: true` and the counts.
 *
 * - `prompt_eval_count` is **inclusive** of `prompt_eval_cached_count`, which newer servers state.
 * - `eval_count` is all output. Thinking is not stated separately.
 * - Older servers omit `prompt_eval_count` if the prompt was cached (ollama/ollama#2068); the count is then unknown, not 0.
 *   A request that only loads or unloads a model has no tokens. `eval_count` is omitted if it is 0.
 */
export const ollamaChat = defineApiReader({
  ...spec,
  streamsByDefault: true,
  promptMembers: ["system", "messages"],
  start: () => startOllama(false),
});

/** Ollama's /api/generate. The response states usage like `ollamaChat`. */
export const ollamaGenerate = defineApiReader({
  ...spec,
  streamsByDefault: true,
  promptMembers: ["system", "prompt"],
  start: () => startOllama(false),
});

/** Ollama's /api/embed, which states only input in `prompt_eval_count`, and the older /api/embeddings, which states nothing. */
export const ollamaEmbed = defineApiReader({
  ...spec,
  streamsByDefault: null,
  promptMembers: ["input"],
  start: () => startOllama(true),
});

function startOllama(embeds: boolean): MessageReader {
  let model: string | null = null;
  let last: PickedMembers | null = null;
  return {
    knowsModel: () => model !== null,
    read(message) {
      model = message.string("model") ?? model;
      if (message.value("done") === true || embeds) last = message;
    },
    end() {
      const reason = last?.string("done_reason") ?? null;
      const noTokens = reason === "load" || reason === "unload";
      const input = readCount(last?.value("prompt_eval_count")) ?? (noTokens ? 0 : null);
      const inputs = splitTotal(input, [readCount(last?.value("prompt_eval_cached_count"))]);
      const output = embeds ? (input === null ? null : 0) : (readCount(last?.value("eval_count")) ?? 0);
      return {
        tokens:
          last === null
            ? NO_TOKENS
            : {
                ...NO_TOKENS,
                promptTokens: inputs.rest,
                cacheReadTokens: inputs.parts[0] ?? null,
                completionTokens: output,
              },
        tokensComplete: input !== null && inputs.consistent,
        model,
        responseId: null,
        serviceTier: null,
        extras: {},
        providerCostPicoUsd: null,
        unknownUsage: null,
      };
    },
  };
}
