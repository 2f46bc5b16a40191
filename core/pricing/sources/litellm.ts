import { isObject, type JsonObject } from "../../values/json-object.ts";
import type { PublishedRate, PublishedServiceTier, PublishedTier } from "../../wire/pricing-rates.ts";
import type { RateProblem } from "../published-rates.ts";
import type { UsageExtraName } from "../usage-extras.ts";
import {
  createPriceReader,
  definedFields,
  fillTiers,
  type PriceReader,
  type PriceUnit,
  tokenRates,
} from "./price-fields.ts";
import { LITELLM_PROVIDERS, listOf, precedenceOf } from "./provider-lists.ts";

/** A published rate and its precedence over others of the same name; a lower number takes precedence. */
export interface RankedRate {
  readonly rate: PublishedRate;
  readonly precedence: number;
}

/** The suffixes of LiteLLM's fields for a service tier. */
const SERVICE_SUFFIXES = { batch: "_batches", flex: "_flex", priority: "_priority" } as const;

/** Fields that are no token rates: the extra, the number of units, and a factor. */
const EXTRA_FIELDS: readonly (readonly [field: string, extra: UsageExtraName, unit: PriceUnit])[] = [
  ["input_cost_per_audio_token", "audio_input_tokens", "one"],
  ["input_cost_per_image_token", "image_input_tokens", "one"],
  ["input_cost_per_video_token", "video_input_tokens", "one"],
  ["cache_read_input_audio_token_cost", "audio_cache_read_tokens", "one"],
  ["cache_read_input_image_token_cost", "image_cache_read_tokens", "one"],
  ["output_cost_per_audio_token", "audio_output_tokens", "one"],
  ["output_cost_per_image_token", "image_output_tokens", "one"],
  ["output_cost_per_video_token", "video_output_tokens", "one"],
  ["citation_cost_per_token", "citation_tokens", "one"],
  ["file_search_cost_per_1k_calls", "file_search_requests", "thousand"],
  ["ocr_cost_per_page", "document_pages", "one"],
  ["annotation_cost_per_page", "annotated_document_pages", "one"],
];

/** The path of a regional or committed price, which the plain name of the model does not have. */
const REGIONAL_PATH =
  /^(?:azure\/(?:us|eu|global|global-standard)|bedrock\/(?:\*|[a-z]{2}(?:-[a-z]+)+-\d))\/|\/\d+-month-commitment\/|\/(?:max|\d+)-(?:x-\d+|steps)\//;

/**
 * Reads an entry of LiteLLM's `model_prices_and_context_window.json`: prices of one unit in USD, and suffixes for context
 * and service tiers. Returns the rates under each name of the model, or null if it has no price that the meter can apply.
 * Source: https://docs.litellm.ai/docs/provider_registration/add_model_pricing.
 *
 * Decision: an entry whose prices are all 0 states none. LiteLLM writes 0 for subscriptions and for unknown prices.
 */
export function readLiteLlmEntry(
  key: string,
  entry: JsonObject,
  problems: RateProblem[],
): readonly RankedRate[] | null {
  const source = entry.litellm_provider;
  if (key === "sample_spec" || typeof source !== "string" || REGIONAL_PATH.test(key)) return null;
  // Google's older embeddings are billed by characters; their price per token is an estimate.
  if (entry.mode === "embedding" && Object.hasOwn(entry, "input_cost_per_character")) return null;
  const provider = listOf(LITELLM_PROVIDERS, source);
  const model = modelName(key, source, provider);
  const reader = createPriceReader(provider, model, problems);
  const found = problems.length;
  const rate = readRates(provider, model, entry, reader);
  if (problems.length > found || !hasPrice(rate)) return null;
  return [{ rate, precedence: precedenceOf(LITELLM_PROVIDERS, source) }];
}

/** Returns the name as the provider's responses have it: without the path that selects LiteLLM's provider. */
function modelName(key: string, source: string, provider: string): string {
  const prefixes = [`${source}/`, `${source.split("-")[0]}/`, ...(provider === "aws" ? ["bedrock/"] : [])];
  const prefix = prefixes.find((each) => key.startsWith(each));
  const name = prefix === undefined ? key : key.slice(prefix.length);
  // Vertex's publishers, which only some endpoints put before the name.
  if (provider === "google") return name.slice(name.lastIndexOf("/") + 1);
  return provider === "azure" ? name.replace(/^(?:eu|us|global|global-standard)\//, "") : name;
}

function readRates(provider: string, model: string, entry: JsonObject, reader: PriceReader): PublishedRate {
  const tiers = readContextTiers(reader, entry, "");
  const steps = readSteps(reader, entry);
  const base = { ...baseRates(reader, entry, ""), ...steps.base };
  const thinking = reader.price(entry, "output_cost_per_reasoning_token", "one");
  const perRequest = reader.price(entry, "input_cost_per_request", "one");
  const extras = readExtras(reader, entry);
  const services = readServiceTiers(reader, entry, base);
  const all = [...tiers, ...steps.tiers];
  return {
    provider,
    model,
    ...base,
    ...(all.length > 0 && { tiers: fillTiers(all) }),
    ...(thinking !== undefined && thinking !== base.output && { thinking }),
    ...(perRequest !== undefined && { per_request: perRequest }),
    ...(extras !== undefined && { extras }),
    ...(services !== null && { service_tiers: services }),
  };
}

function baseRates(reader: PriceReader, entry: JsonObject, suffix: string) {
  return tokenRates(reader, entry, "one", {
    input: `input_cost_per_token${suffix}`,
    output: `output_cost_per_token${suffix}`,
    cache_read: `cache_read_input_token_cost${suffix}`,
    cache_write: `cache_creation_input_token_cost${suffix}`,
    cache_write_1h: `cache_creation_input_token_cost_above_1hr${suffix}`,
  });
}

/** Reads the fields `…_above_200k_tokens`, with the suffix of a service tier. */
function readContextTiers(reader: PriceReader, entry: JsonObject, suffix: string): PublishedTier[] {
  const found = new Set<string>();
  for (const field of Object.keys(entry)) {
    const match = /^(?:in|out)put_cost_per_token_above_(\d{1,4})k_tokens(_[a-z]+)?$/.exec(field);
    if (match !== null && (match[2] ?? "") === suffix) found.add(match[1]!);
  }
  return fillTiers(
    [...found].map((thousands) => ({
      above_tokens: Number(thousands) * 1_000,
      ...baseRates(reader, entry, `_above_${thousands}k_tokens${suffix}`),
    })),
  );
}

/** Reads `tiered_pricing`, whose first step has the base rates. */
function readSteps(
  reader: PriceReader,
  entry: JsonObject,
): { base: Partial<PublishedTier>; tiers: PublishedTier[] } {
  const list = entry.tiered_pricing;
  const steps = (Array.isArray(list) ? list : []).filter(isObject).flatMap((step) => {
    const range = step.range;
    const from = Array.isArray(range) ? Number(range[0]) : Number.NaN;
    return Number.isSafeInteger(from) ? [{ above_tokens: from, ...baseRates(reader, step, "") }] : [];
  });
  const first = steps.find((step) => step.above_tokens === 0);
  if (first === undefined) return { base: {}, tiers: [] };
  const { above_tokens: _, ...base } = first;
  return { base, tiers: steps.filter((step) => step.above_tokens > 0) };
}

function readServiceTiers(
  reader: PriceReader,
  entry: JsonObject,
  base: Pick<PublishedRate, "input" | "output">,
): Record<string, PublishedServiceTier> | null {
  const found: Record<string, PublishedServiceTier> = {};
  for (const [name, suffix] of Object.entries(SERVICE_SUFFIXES)) {
    const rates = baseRates(reader, entry, suffix);
    if (rates.input === null && rates.output === null) continue;
    // A priority tier at the standard price is a placeholder: no provider sells one.
    if (name === "priority" && rates.input === base.input && rates.output === base.output) continue;
    const tiers = readContextTiers(reader, entry, suffix);
    found[name] = { ...rates, ...(tiers.length > 0 && { tiers }) };
  }
  return Object.keys(found).length === 0 ? null : found;
}

function readExtras(reader: PriceReader, entry: JsonObject): Record<string, string> | undefined {
  const found: Record<string, string | undefined> = {};
  for (const [field, extra, unit] of EXTRA_FIELDS) found[extra] = reader.price(entry, field, unit);
  if (entry.mode === "rerank") found.search_units = reader.price(entry, "input_cost_per_query", "one");
  if (entry.mode === "audio_transcription")
    found.audio_milliseconds = reader.price(entry, "input_cost_per_second", "one", 3_600);
  found.web_search_requests = readSearchFee(reader, entry);
  return definedFields(found);
}

/** Returns the fee of a web search if it does not depend on the size of its context, which no response states. */
function readSearchFee(reader: PriceReader, entry: JsonObject): string | undefined {
  const fees = entry.search_context_cost_per_query;
  if (!isObject(fees)) return;
  const sizes = new Set(Object.values(fees));
  return sizes.size === 1 ? reader.price(fees, Object.keys(fees)[0]!, "one") : undefined;
}

function hasPrice({ input, output, per_request, extras }: PublishedRate): boolean {
  return [input, output, per_request, ...Object.values(extras ?? {})].some(
    (price) => price !== null && price !== undefined && price !== "0",
  );
}
