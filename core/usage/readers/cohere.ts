import { defineApiReader, type MessageReader } from "../api-reader.ts";
import { isObject, membersOf, NO_TOKENS, readCount } from "../token-counts.ts";
import { type KnownMembers, unknownUsage } from "../unknown-usage.ts";
import { setExtra } from "../usage-extras.ts";

const KNOWN: KnownMembers = {
  billed_units: {
    input_tokens: true,
    output_tokens: true,
    search_units: true,
    image_tokens: true,
    images: true,
    classifications: true,
  },
  // What was processed, preambles and all; it is not what is billed.
  tokens: true,
  cached_tokens: true,
  api_version: true,
};

/** Where usage stands: v2's chat in `usage`, v1 and the other calls in `meta`; and in the last event of a stream. */
const PATHS = ["usage", "meta", "delta.usage", "response.meta"] as const;

const spec = {
  members: [...PATHS, "id", "model", "generation_id", "response.generation_id"],
  keys: ["billed_units"],
  framing: "lines" as const,
};

/**
 * Cohere's own Chat (v1 and v2; it offers OpenAI's shapes too), whole or streamed: v2 as server-sent events, v1 as lines.
 *
 * - `billed_units` are what is billed: `input_tokens` and `output_tokens`, which are **fewer** than the `tokens` that
 *   were processed and stand beside them. A part of the latter may have come from a cache (`cached_tokens`): it has no
 *   price of its own, and is not split from what is billed.
 * - A stream states it in `message-end` (`delta.usage`) or, in v1, in `stream-end` (`response.meta`).
 * - The answer names no model.
 */
export const cohereChat = defineApiReader({
  ...spec,
  promptMembers: ["preamble", "messages", "chat_history", "message"],
  start: () => startCohere("chat"),
});

/** Cohere's Embed: `meta.billed_units` has `input_tokens`, and for images `image_tokens`, which are input too. */
export const cohereEmbed = defineApiReader({
  ...spec,
  streamsByDefault: null,
  promptMembers: ["texts", "inputs", "images"],
  start: () => startCohere("embed"),
});

/** Cohere's Rerank: `meta.billed_units.search_units`, a fee each, and no tokens. */
export const cohereRerank = defineApiReader({
  ...spec,
  streamsByDefault: null,
  promptMembers: ["query", "documents"],
  start: () => startCohere("rerank"),
});

function startCohere(call: "chat" | "embed" | "rerank"): MessageReader {
  let model: string | null = null;
  let responseId: string | null = null;
  let usage: unknown;
  return {
    // No event names the model; the first one has the id.
    knowsModel: () => responseId !== null,
    read(message) {
      model = message.string("model") ?? model;
      responseId =
        message.string("id") ??
        message.string("generation_id") ??
        message.string("response.generation_id") ??
        responseId;
      for (const path of PATHS) {
        const stated = message.value(path);
        if (isObject(membersOf(stated).billed_units)) usage = stated;
      }
    },
    end() {
      const billed = membersOf(membersOf(usage).billed_units);
      const extras: Record<string, number> = {};
      const searches = readCount(billed.search_units);
      setExtra(extras, "search_units", searches);
      const images = readCount(billed.image_tokens);
      const text = readCount(billed.input_tokens);
      const input = text === null && images === null ? null : (text ?? 0) + (images ?? 0);
      setExtra(extras, "image_input_tokens", images);
      const output = readCount(billed.output_tokens) ?? (call === "embed" && input !== null ? 0 : null);
      return {
        tokens: { ...NO_TOKENS, promptTokens: input, completionTokens: output },
        tokensComplete: call === "rerank" ? searches !== null : input !== null && output !== null,
        model,
        responseId,
        serviceTier: null,
        extras,
        providerCostPicoUsd: null,
        unknownUsage: unknownUsage(usage, KNOWN),
      };
    },
  };
}
