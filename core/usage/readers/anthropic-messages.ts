import { defineApiReader, type MessageReader } from "../api-reader.ts";
import { parseJson } from "../member-picker.ts";
import { readStatedCost } from "../stated-cost.ts";
import {
  addCounts,
  firstCount,
  isObject,
  membersOf,
  NO_TOKENS,
  readCount,
  splitTotal,
} from "../token-counts.ts";
import { type KnownMembers, unknownUsage } from "../unknown-usage.ts";
import { setExtra } from "../usage-extras.ts";

const KNOWN: KnownMembers = {
  input_tokens: true,
  output_tokens: true,
  cache_read_input_tokens: true,
  cache_creation_input_tokens: true,
  cache_creation: { ephemeral_5m_input_tokens: true, ephemeral_1h_input_tokens: true },
  output_tokens_details: { thinking_tokens: true },
  server_tool_use: { web_search_requests: true, web_fetch_requests: true },
  service_tier: true,
  cost: true,
  cost_details: true,
  cost_in_usd_ticks: true,
  is_byok: true,
};

/**
 * Anthropic Messages, whole or streamed, and the hosts that imitate it.
 *
 * - `input_tokens` is **exclusive**: all input is the sum of `input_tokens`, `cache_read_input_tokens` and
 *   `cache_creation_input_tokens`. A cache count that is null or absent beside a stated `input_tokens` is 0.
 * - `output_tokens` is **inclusive** of thinking, whose part `output_tokens_details.thinking_tokens` states; without it
 *   the thinking is in the completion and its own count null.
 * - A stream states usage in `message_start` and again, cumulative, in `message_delta`: what a delta states replaces what
 *   was known, input too, and is never added. The 5-minute and 1-hour split stands in `message_start` alone, and so it
 *   is kept; what a delta's total adds to it has no stated time to live and is priced at the default one.
 * - An `error` event may come after a 200; what was stated before it stays, as not complete.
 */
export const anthropicMessages = defineApiReader({
  members: ["id", "model", "usage", "delta", "message.id", "message.model", "message.usage"],
  keys: ["usage"],
  promptMembers: ["system", "messages"],
  start: startMessages,
});

function startMessages(provider: string): MessageReader {
  let model: string | null = null;
  let id: string | null = null;
  /** The members of all usage objects, later ones over earlier ones. */
  let usage: Record<string, unknown> | null = null;
  let costPicoUsd: bigint | null = null;
  let wholeSeen = false;
  let deltaSeen = false;
  let stopSeen = false;

  return {
    knowsModel: () => model !== null,
    read(message, whole) {
      model = message.string("message.model") ?? message.string("model") ?? model;
      id = message.string("message.id") ?? message.string("id") ?? id;
      const started = message.text("message.usage");
      const text = started ?? message.text("usage");
      const stated = parseJson(text);
      if (!isObject(stated)) return;
      usage = overwrite(usage, stated);
      costPicoUsd = readStatedCost(provider, text) ?? costPicoUsd;
      if (whole) wholeSeen = true;
      else if (started === null) {
        deltaSeen = true;
        if (typeof membersOf(message.value("delta")).stop_reason === "string") stopSeen = true;
      }
    },
    end(ended) {
      const extras: Record<string, number> = {};
      if (usage === null)
        return {
          tokens: NO_TOKENS,
          tokensComplete: false,
          model,
          responseId: id,
          serviceTier: null,
          extras,
          providerCostPicoUsd: null,
          unknownUsage: null,
        };
      const input = readCount(usage.input_tokens);
      const split = membersOf(usage.cache_creation);
      const oneHour = readCount(split.ephemeral_1h_input_tokens);
      const fiveMinutes = readCount(split.ephemeral_5m_input_tokens);
      const absent = input === null ? null : 0;
      const stated = oneHour === null && fiveMinutes === null ? absent : addCounts(oneHour, fiveMinutes);
      const cacheWrite = firstCount(usage.cache_creation_input_tokens) ?? stated;
      const writes = splitTotal(cacheWrite, [oneHour ?? (cacheWrite === 0 ? 0 : null)]);
      const output = readCount(usage.output_tokens);
      const thinking = readCount(membersOf(usage.output_tokens_details).thinking_tokens);
      const outputs = splitTotal(output, [thinking]);
      const tools = membersOf(usage.server_tool_use);
      setExtra(extras, "web_search_requests", tools.web_search_requests);
      setExtra(extras, "web_fetch_requests", tools.web_fetch_requests);
      if (usage.speed === "fast") extras.fast_mode = 1;
      if (usage.inference_geo === "us") extras.us_inference = 1;
      const tier = usage.service_tier;
      return {
        tokens: {
          promptTokens: input,
          cacheReadTokens: readCount(usage.cache_read_input_tokens) ?? absent,
          cacheWriteTokens: cacheWrite,
          cacheWrite1hTokens: writes.parts[0] ?? null,
          completionTokens: outputs.rest,
          thinkingTokens: outputs.parts[0] ?? null,
        },
        tokensComplete:
          input !== null &&
          output !== null &&
          writes.consistent &&
          outputs.consistent &&
          (wholeSeen || stopSeen || (deltaSeen && ended)),
        model,
        responseId: id,
        serviceTier: typeof tier === "string" ? tier : null,
        extras,
        providerCostPicoUsd: costPicoUsd,
        unknownUsage: unknownUsage(usage, KNOWN),
      };
    },
  };
}

/** What the later object states replaces what the earlier one stated; a null in it states nothing. */
function overwrite(
  earlier: Record<string, unknown> | null,
  later: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const merged: Record<string, unknown> = { ...earlier, ...later };
  for (const name of Object.keys(later)) merged[name] = later[name] ?? earlier?.[name] ?? null;
  return merged;
}
