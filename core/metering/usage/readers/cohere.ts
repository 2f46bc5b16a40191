import { isObject } from "../../../values/json-object.ts";
import { defineApiReader, type MessageReader } from "../api-reader.ts";
import { asObject, firstCount, NO_TOKENS, readCount } from "../token-counts.ts";
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
    pages: true,
  },
  // All processed tokens, including preambles. They are not what is billed.
  tokens: true,
  cached_tokens: true,
  api_version: true,
};

/** Paths of the usage: `usage` in v2 Chat, `meta` in v1 and other calls, and those of the last stream event. */
const PATHS = ["usage", "meta", "delta.usage", "response.meta"] as const;

const spec = {
  members: [...PATHS, "id", "model", "generation_id", "response.generation_id"],
  keys: ["billed_units"],
  framing: "lines" as const,
};

/**
 * Cohere's native Chat API, v1 and v2. Streams are server-sent events in v2 and JSON lines in v1.
 *
 * - `billed_units` states the billed `input_tokens` and `output_tokens`. They are **fewer** than the processed `tokens`, which
 *   are stated next to them. Some of the processed tokens may be cached (`cached_tokens`), which does not affect the price.
 * - A stream states usage in `message-end` (`delta.usage`) or, in v1, in `stream-end` (`response.meta`).
 * - The response names no model.
 */
export const cohereChat = defineApiReader({
  ...spec,
  promptMembers: ["preamble", "messages", "chat_history", "message"],
  start: () => startCohere("chat"),
});

/** Cohere's Embed: `meta.billed_units` has `input_tokens` and, for images, `image_tokens`. Both are input. */
export const cohereEmbed = defineApiReader({
  ...spec,
  streamsByDefault: null,
  promptMembers: ["texts", "inputs", "images"],
  start: () => startCohere("embed"),
});

/**
 * Cohere's Generate and Summarize, v1: `meta.billed_units` as in Chat. A stream of Generate states no usage.
 * Source: cohere-ai 8.1.0, api/types: Generation, GenerateStreamEndResponse, read 2026-11-23.
 */
export const cohereGenerate = defineApiReader({
  ...spec,
  promptMembers: ["prompt", "text"],
  start: () => startCohere("chat"),
});

/**
 * Cohere's calls that are billed by other units: classifications (Classify), pages (Parse). Transcriptions state none.
 * Source: cohere-ai 8.1.0, api/types: ApiMetaBilledUnits, read 2026-11-23.
 */
export const cohereUnits = defineApiReader({
  ...spec,
  streamsByDefault: null,
  promptMembers: ["inputs", "examples"],
  start: () => startCohere("units"),
});

/** Cohere's Rerank: billed per `meta.billed_units.search_units`, without tokens. */
export const cohereRerank = defineApiReader({
  ...spec,
  streamsByDefault: null,
  promptMembers: ["query", "documents"],
  start: () => startCohere("rerank"),
});

function startCohere(call: "chat" | "embed" | "rerank" | "units"): MessageReader {
  let model: string | null = null;
  let responseId: string | null = null;
  let usage: unknown;
  return {
    // No event names the model. The first one has the id.
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
        if (isObject(asObject(stated).billed_units)) usage = stated;
      }
    },
    end() {
      const billed = asObject(asObject(usage).billed_units);
      const extras: Record<string, number> = {};
      const searches = readCount(billed.search_units);
      setExtra(extras, "search_units", searches);
      setExtra(extras, "classifications", billed.classifications);
      setExtra(extras, "document_pages", billed.pages);
      const units = firstCount(searches, billed.classifications, billed.pages);
      const images = readCount(billed.image_tokens);
      const text = readCount(billed.input_tokens);
      const input = text === null && images === null ? null : (text ?? 0) + (images ?? 0);
      setExtra(extras, "image_input_tokens", images);
      const output = readCount(billed.output_tokens) ?? (call === "embed" && input !== null ? 0 : null);
      return {
        tokens: { ...NO_TOKENS, promptTokens: input, completionTokens: output },
        tokensComplete:
          call === "rerank" || call === "units" ? units !== null : input !== null && output !== null,
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
