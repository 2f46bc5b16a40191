import { type AnswerFacts, defineApiReader, type MessageReader } from "../api-reader.ts";
import { parseJson } from "../member-picker.ts";
import { readStatedCost } from "../stated-cost.ts";
import { isObject, membersOf, NO_TOKENS } from "../token-counts.ts";
import { type KnownMembers, unknownUsage } from "../unknown-usage.ts";
import { setExtra } from "../usage-extras.ts";
import { readAnthropicCounts, readIterations, reportsOfOthers } from "./anthropic-usage.ts";

const KNOWN: KnownMembers = {
  input_tokens: true,
  output_tokens: true,
  cache_read_input_tokens: true,
  cache_creation_input_tokens: true,
  cache_creation: { ephemeral_5m_input_tokens: true, ephemeral_1h_input_tokens: true },
  output_tokens_details: { thinking_tokens: true },
  server_tool_use: { web_search_requests: true, web_fetch_requests: true },
  service_tier: true,
  iterations: true,
  // The reprice of a retry after a refusal; the counts are what is billed either way.
  fallback_credit: true,
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
 * - `usage.iterations[]` lists the calls that went into the answer, some of which the totals leave out: see
 *   `readIterations`.
 * - An `error` event may come after a 200; what was stated before it stays, as not complete.
 */
export const anthropicMessages = defineApiReader({
  members: ["id", "model", "usage", "delta", "message.id", "message.model", "message.usage"],
  keys: ["usage"],
  promptMembers: ["system", "messages"],
  start: startMessages,
});

function startMessages({ provider }: AnswerFacts): MessageReader {
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
      const { tokens, consistent } = readAnthropicCounts(usage);
      const flags: Record<string, number> = {};
      if (usage.speed === "fast") flags.fast_mode = 1;
      if (usage.inference_geo === "us") flags.us_inference = 1;
      const tools = membersOf(usage.server_tool_use);
      setExtra(extras, "web_search_requests", tools.web_search_requests);
      setExtra(extras, "web_fetch_requests", tools.web_fetch_requests);
      const serviceTier = typeof usage.service_tier === "string" ? usage.service_tier : null;
      const tokensComplete =
        tokens.promptTokens !== null &&
        tokens.completionTokens !== null &&
        consistent &&
        (wholeSeen || stopSeen || (deltaSeen && ended));
      const iterations = readIterations(usage.iterations, model, tokens);
      const around = { responseId: id, serviceTier, flags };
      const results = iterations === null ? [] : reportsOfOthers(iterations, around, tokensComplete);
      return {
        tokens: iterations?.tokens ?? tokens,
        tokensComplete,
        model,
        responseId: id,
        serviceTier,
        extras: { ...extras, ...flags, ...iterations?.extras },
        providerCostPicoUsd: costPicoUsd,
        unknownUsage: unknownUsage(usage, KNOWN),
        ...(results.length === 0 ? {} : { results }),
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
