import { isObject } from "../../../values/json-object.ts";
import { type AnswerFacts, defineApiReader, type MessageReader } from "../api-reader.ts";
import { type PickedMembers, parseJson } from "../member-picker.ts";
import { readStatedCost } from "../stated-cost.ts";
import { asObject, NO_TOKENS } from "../token-counts.ts";
import { type KnownMembers, unknownUsage } from "../unknown-usage.ts";
import { setExtra } from "../usage-extras.ts";
import type { UsageFindings } from "../usage-report.ts";
import { readAnthropicCounts, readIterations, reportOtherModels } from "./anthropic-usage.ts";

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
  // A price adjustment for a retry after a refusal. The counts are billed either way.
  fallback_credit: true,
  cost: true,
  cost_details: true,
  cost_in_usd_ticks: true,
  is_byok: true,
};

/**
 * Anthropic Messages, streamed or not, and compatible hosts.
 *
 * - `input_tokens` is **exclusive**: all input is the sum of `input_tokens`, `cache_read_input_tokens` and
 *   `cache_creation_input_tokens`. If `input_tokens` is stated, a cache count that is null or absent is 0.
 * - `output_tokens` is **inclusive** of thinking. `output_tokens_details.thinking_tokens` states the thinking part; without
 *   it, thinking is counted in the completion and its own count is null.
 * - A stream states usage in `message_start` and cumulatively in `message_delta`. Counts in a delta, including input,
 *   replace the earlier ones and are never added. The split by 5-minute and 1-hour time to live is only in `message_start`
 *   and is kept; any increase in a delta has no stated time to live and is priced at the default one.
 * - `usage.iterations[]` lists the model calls behind the response. The totals omit some of them: see `readIterations`.
 * - An `error` event may follow a 200. The usage stated before it is kept and marked incomplete.
 */
export const anthropicMessages = defineApiReader({
  members: ["id", "model", "usage", "delta", "message.id", "message.model", "message.usage"],
  keys: ["usage"],
  promptMembers: ["system", "messages"],
  start: startMessages,
});

/** What was read of one response so far. */
interface MessagesState {
  model: string | null;
  id: string | null;
  /** The members of all usage objects, later ones over earlier ones; null without a usage object. */
  usage: Map<string, unknown> | null;
  costPicoUsd: bigint | null;
  wholeSeen: boolean;
  deltaSeen: boolean;
  stopSeen: boolean;
}

function startMessages({ provider }: AnswerFacts): MessageReader {
  const state: MessagesState = {
    model: null,
    id: null,
    usage: null,
    costPicoUsd: null,
    wholeSeen: false,
    deltaSeen: false,
    stopSeen: false,
  };
  return {
    knowsModel: () => state.model !== null,
    read: (message, whole) => readMessage(state, provider, message, whole),
    end: (ended) => endMessages(state, ended),
  };
}

function readMessage(state: MessagesState, provider: string, message: PickedMembers, whole: boolean): void {
  state.model = message.string("message.model") ?? message.string("model") ?? state.model;
  state.id = message.string("message.id") ?? message.string("id") ?? state.id;
  const started = message.text("message.usage");
  const text = started ?? message.text("usage");
  const stated = parseJson(text);
  if (!isObject(stated)) return;
  state.usage ??= new Map();
  overwrite(state.usage, stated);
  state.costPicoUsd = readStatedCost(provider, text) ?? state.costPicoUsd;
  if (whole) state.wholeSeen = true;
  else if (started === null) {
    state.deltaSeen = true;
    if (typeof asObject(message.value("delta")).stop_reason === "string") state.stopSeen = true;
  }
}

function endMessages(state: MessagesState, ended: boolean): UsageFindings {
  const { model, id } = state;
  const extras: Record<string, number> = {};
  if (state.usage === null)
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
  const usage = Object.fromEntries(state.usage);
  const { tokens, consistent } = readAnthropicCounts(usage);
  const flags: Record<string, number> = {};
  if (usage.speed === "fast") flags.fast_mode = 1;
  if (usage.inference_geo === "us") flags.us_inference = 1;
  const tools = asObject(usage.server_tool_use);
  setExtra(extras, "web_search_requests", tools.web_search_requests);
  setExtra(extras, "web_fetch_requests", tools.web_fetch_requests);
  const serviceTier = typeof usage.service_tier === "string" ? usage.service_tier : null;
  const tokensComplete =
    tokens.promptTokens !== null &&
    tokens.completionTokens !== null &&
    consistent &&
    (state.wholeSeen || state.stopSeen || (state.deltaSeen && ended));
  const iterations = readIterations(usage.iterations, model, tokens);
  const context = { responseId: id, serviceTier, flags };
  const results = iterations === null ? [] : reportOtherModels(iterations, context, tokensComplete);
  return {
    tokens: iterations?.tokens ?? tokens,
    tokensComplete,
    model,
    responseId: id,
    serviceTier,
    extras: { ...extras, ...flags, ...iterations?.extras },
    providerCostPicoUsd: state.costPicoUsd,
    unknownUsage: unknownUsage(usage, KNOWN),
    ...(results.length === 0 ? {} : { results }),
  };
}

/** The most members of merged usage objects. Anthropic has about 15. */
const MAX_USAGE_MEMBERS = 100;

/** Merges a usage object into the earlier ones. Its members take precedence unless they are null. */
function overwrite(merged: Map<string, unknown>, later: Readonly<Record<string, unknown>>): void {
  for (const [name, value] of Object.entries(later)) {
    const earlier = merged.get(name);
    if (earlier !== undefined || merged.size < MAX_USAGE_MEMBERS) merged.set(name, value ?? earlier ?? null);
  }
}
