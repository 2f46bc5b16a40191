import { decodeUtf8 } from "../../metering/exchange/bytes.ts";
import { compileMemberPaths, type PickedMembers, pickMembers } from "../../metering/usage/member-picker.ts";
import type { MeteredRoute } from "../../metering/usage/route.ts";
import { PRICE_FACTORS, type PriceFactor } from "../../pricing/factors.data.ts";
import { applyFactors } from "../../pricing/factors.ts";
import type { PriceBook } from "../../pricing/price-book.ts";
import type { RateRow, ServiceTierRates, TokenRates } from "../../pricing/rates.ts";
import { USAGE_EXTRAS, type UsageExtraName } from "../../pricing/usage-extras.ts";
import type { Millis } from "../../values/time.ts";
import { outputLimitOf } from "./output-limits.ts";

/** A call before it is sent. */
export interface CallToBound {
  readonly route: Pick<
    MeteredRoute,
    "api" | "provider" | "model" | "requestKind" | "extras" | "billing" | "deployments"
  >;
  /** The decoded body, or its start. Null: not seen, or encoded. */
  readonly body: Uint8Array | null;
  /** The length of the whole decoded body. Null: unknown. */
  readonly bodyBytes: number | null;
  readonly at: Millis;
}

/** The most that a call can use. Null: no bound is known. */
export interface CallBound {
  readonly model: string | null;
  readonly tokens: number | null;
  readonly costPicoUsd: bigint | null;
}

/** The largest context window of a listed model, which bounds the input of one model call. */
const LARGEST_CONTEXT = 2_097_152;

/** What a provider adds to a request: its own instructions for tools, and the tokens around each message. */
const ADDED_INPUT = 8_192;

/** The most tokens of one image. Sources: the providers' pages on vision, 2026-11. */
const TOKENS_PER_IMAGE = 16_384;

const OUTPUT_LIMIT_MEMBERS = [
  "max_tokens",
  "max_output_tokens",
  "max_completion_tokens",
  "maxOutputTokens",
  "max_new_tokens",
  "num_predict",
  "generationConfig.maxOutputTokens",
  "generation_config.max_output_tokens",
  "request.generationConfig.maxOutputTokens",
  "options.num_predict",
  "inferenceConfig.maxTokens",
] as const;

const CHOICE_MEMBERS = [
  "n",
  "best_of",
  "num_generations",
  "candidateCount",
  "generationConfig.candidateCount",
  "request.generationConfig.candidateCount",
] as const;

const MEMBERS = compileMemberPaths(["model", ...OUTPUT_LIMIT_MEMBERS, ...CHOICE_MEMBERS], 256);

/** Input that is not in the body. Its tokens are bounded by the context window only. */
const REFERENCES =
  /"(?:file_ids?|file_uri|fileUri|file_url|cachedContents?|cached_content|thread_id|assistant_id|s3Location|gcsUri)"|"(?:previous_response_id|conversation|previous_interaction_id)"\s*:\s*["{]|"prompt"\s*:\s*\{|application\/pdf|"(?:image_url|url|uri)"\s*:\s*(?:\{\s*"url"\s*:\s*)?"(?:https?|gs|s3):|"type"\s*:\s*"(?:document|file|input_file|video_url|input_video)"/;

/** Tools that the provider runs: it calls the model again for each result, and bills fees that no field limits. */
const SERVER_TOOLS =
  /"(?:type|name)"\s*:\s*"(?:web_search|web_fetch|code_execution|code_interpreter|file_search|mcp|computer_use|image_generation|openrouter:|advisor|live_search|tool_search)|"(?:mcp_servers|web_search_options|search_parameters|plugins|connectors|google_?[sS]earch(?:_?[rR]etrieval)?|googleMaps|google_maps|url_?[cC]ontext|code_?[eE]xecution|enterpriseWebSearch|compound_custom|context_management|fallbacks?|models|route|background|web_search|search_context_size|retrieval|documents|data_sources)"\s*:\s*(?!null|false|\[\s*\]|\{\s*\})/;

/** Members that choose another price. */
const PRICE_MEMBERS = /"(?:service_?[tT]ier|speed|inference_geo|performanceConfig|processing_mode)"\s*:/;

/** Models that the provider runs more than once for a call, or bills by more than their tokens. */
const COMPOUND_MODELS =
  /search|compound|sonar|research|router|auto$|openrouter\/|agent|fugu|image|audio|tts|transcribe|realtime/i;

/**
 * Returns the most that a call can use, from its body: one token is at least one byte of text, and an image at most a fixed
 * number of tokens. The output is what the request allows, or what the model can produce. Null where the provider may do
 * more than one model call, or bills by other units.
 */
export function boundCall(call: CallToBound, book: Pick<PriceBook, "find">): CallBound {
  const { route, body, bodyBytes } = call;
  const members = body === null ? null : pickMembers(body, MEMBERS);
  const named = members?.string("model") ?? route.model;
  // A deployment in the path takes precedence over the body, as in the record.
  const model = route.deployments?.get(route.model ?? named ?? "") ?? named;
  const row =
    model === null ? null : book.find({ provider: route.provider, model, requestedModel: null, at: call.at });
  // A server on this machine costs nothing, unless it has rates.
  if (route.billing === "free" && row === null) return { model, tokens: null, costPicoUsd: 0n };
  const none = { model, tokens: null, costPicoUsd: null };
  if (route.requestKind !== "chat" && route.requestKind !== "embedding") return none;
  if (model !== null && COMPOUND_MODELS.test(model)) return none;
  // Only a complete body shows that it has no such tools.
  if (body === null || bodyBytes === null || body.length < bodyBytes) return none;
  const text = decodeUtf8(body);
  if (SERVER_TOOLS.test(text)) return none;
  const input = boundInput(text, body.length);
  const output = route.requestKind === "embedding" ? 0 : boundOutput(members, model);
  const tokens = input + output;
  return { model, tokens, costPicoUsd: row === null ? null : boundCost(row, call, text, input, output) };
}

/** Whether a call may cost nothing, as far as its model shows. */
export function mayCostNothing(
  { route, model, at }: Pick<CallToBound, "route" | "at"> & { readonly model: string | null },
  book: Pick<PriceBook, "find">,
): boolean {
  if (model === null) return true;
  const row = book.find({ provider: route.provider, model, requestedModel: null, at });
  if (row === null) return route.billing === "free";
  return boundCost(row, { route }, "", 1, route.requestKind === "embedding" ? 0 : 1) === 0n;
}

function boundInput(text: string, bytes: number): number {
  if (REFERENCES.test(text)) return LARGEST_CONTEXT;
  const images = text.match(/image\//g)?.length ?? 0;
  return Math.min(LARGEST_CONTEXT, bytes + ADDED_INPUT + images * TOKENS_PER_IMAGE);
}

function boundOutput(members: PickedMembers | null, model: string | null): number {
  const stated = highestMember(members, OUTPUT_LIMIT_MEMBERS);
  const each = stated === 0 ? outputLimitOf(model) : Math.ceil(stated);
  const output = each * Math.ceil(Math.max(1, highestMember(members, CHOICE_MEMBERS)));
  // JSON has numbers such as 1e999, which are infinite here.
  return Math.min(output, Number.MAX_SAFE_INTEGER);
}

/** Returns the highest of the numbers in these members; 0 if none is positive. */
function highestMember(members: PickedMembers | null, names: readonly string[]): number {
  let found = 0;
  for (const name of names) {
    const value = members?.value(name);
    if (typeof value === "number" && value > found) found = value;
  }
  return found;
}

/** The highest rates that may apply to a call. Null: the row has none. */
interface HighestRates {
  input: number | null;
  output: number | null;
}

/** Returns the cost of all tokens at the highest rates that may apply to them. */
function boundCost(
  row: RateRow,
  { route }: Pick<CallToBound, "route">,
  text: string,
  input: number,
  output: number,
): bigint | null {
  const { rates } = row;
  const found: HighestRates = { input: null, output: rates.thinking };
  raiseToLevel(found, rates, input);
  if (rates.serviceTiers)
    for (const level of Object.values(rates.serviceTiers)) raiseToLevel(found, level, input);
  if (found.input === null || (output > 0 && found.output === null)) return null;
  let medium = 0;
  for (const [name, rate] of Object.entries(rates.extras))
    if (USAGE_EXTRAS[name as UsageExtraName].partOf !== null) medium = Math.max(medium, rate);
  const factors = factorsOf(row.provider, PRICE_MEMBERS.test(text), route.extras?.regional_endpoint ?? 0);
  const costOf = (count: number, rate: number) =>
    BigInt(count) * BigInt(applyFactors(Math.max(rate, medium), factors));
  return costOf(input, found.input) + costOf(output, found.output ?? 0) + BigInt(rates.perRequest ?? 0);
}

/** Raises the rates to those of a level, and of its tiers that the input reaches. */
function raiseToLevel(highest: HighestRates, level: ServiceTierRates, input: number): void {
  raiseToRates(highest, level);
  for (const tier of level.tiers) if (input > tier.aboveTokens) raiseToRates(highest, tier);
}

function raiseToRates(highest: HighestRates, rates: TokenRates): void {
  const { input, cacheRead, cacheWrite, cacheWrite1h, output } = rates;
  // Claude's one-hour writes cost twice the input where the list has no rate for them.
  const doubled = input === null ? null : input * 2;
  highest.input = higher(higher(higher(higher(highest.input, cacheRead), cacheWrite), cacheWrite1h), doubled);
  highest.output = higher(highest.output, output);
}

const higher = (one: number | null, other: number | null): number | null =>
  one === null || (other !== null && other > one) ? other : one;

const NO_FACTORS: readonly PriceFactor[] = [];

/** Returns the factors that may raise the price. */
function factorsOf(
  ofProvider: string,
  choosesPrice: boolean,
  regionalEndpoints: number,
): readonly PriceFactor[] {
  // Most calls choose no price.
  if (!choosesPrice && regionalEndpoints === 0) return NO_FACTORS;
  return PRICE_FACTORS.filter(
    ({ provider, when, numerator, denominator }) =>
      provider === ofProvider &&
      numerator > denominator &&
      ("extra" in when && when.extra === "regional_endpoint" ? regionalEndpoints > 0 : choosesPrice),
  );
}
