import { isObject, type JsonObject } from "../../values/json-object.ts";
import type { PublishedRate, PublishedTier, PublishedTokenRates } from "../../wire/pricing-rates.ts";
import type { RateProblem } from "../published-rates.ts";
import type { UsageExtraName } from "../usage-extras.ts";
import {
  addProblem,
  createPriceReader,
  fillTiers,
  type PriceReader,
  type PriceUnit,
} from "./price-fields.ts";

type Field = keyof PublishedTokenRates | "thinking" | "per_request" | UsageExtraName;

/** The field for each price key of the source, and the number of units that the price is for. */
const PRICE_KEYS: Readonly<Record<string, readonly [Field, PriceUnit]>> = {
  input_mtok: ["input", "million"],
  output_mtok: ["output", "million"],
  cache_read_mtok: ["cache_read", "million"],
  cache_write_mtok: ["cache_write", "million"],
  cache_write_1h_mtok: ["cache_write_1h", "million"],
  output_reasoning_mtok: ["thinking", "million"],
  requests_kcount: ["per_request", "thousand"],
  input_audio_mtok: ["audio_input_tokens", "million"],
  input_image_mtok: ["image_input_tokens", "million"],
  input_video_mtok: ["video_input_tokens", "million"],
  cache_audio_read_mtok: ["audio_cache_read_tokens", "million"],
  cache_image_read_mtok: ["image_cache_read_tokens", "million"],
  output_audio_mtok: ["audio_output_tokens", "million"],
  output_image_mtok: ["image_output_tokens", "million"],
  output_video_mtok: ["video_output_tokens", "million"],
  output_citation_mtok: ["citation_tokens", "million"],
  web_searches_kcount: ["web_search_requests", "thousand"],
  storage_searches_kcount: ["file_search_requests", "thousand"],
  input_document_kpages: ["document_pages", "thousand"],
  input_annotated_document_kpages: ["annotated_document_pages", "thousand"],
  input_text_messages_kcount: ["text_messages", "thousand"],
  audio_hours: ["audio_milliseconds", "one"],
  input_audio_hours: ["audio_milliseconds", "one"],
};

const TOKEN_FIELDS: ReadonlySet<Field> = new Set<Field>([
  "input",
  "output",
  "cache_read",
  "cache_write",
  "cache_write_1h",
]);

/** Maximum number of exact names of one model. */
const MAX_NAMES = 50;

/**
 * Reads a model of genai-prices' `data.json`: `prices` in USD per million tokens or thousand others, each a number or one
 * with context tiers; or a history of prices with start dates and daily periods. The rates are returned under the model's id
 * and every name that its match clause lists. Source: https://github.com/pydantic/genai-prices, `prices/data.schema.json`.
 */
export function readGenaiModel(
  provider: string,
  entry: JsonObject,
  problems: RateProblem[],
): readonly PublishedRate[] | null {
  const { id, prices } = entry;
  if (typeof id !== "string") return null;
  const reader = createPriceReader(provider, id, problems);
  const found = problems.length;
  const history = Array.isArray(prices) ? prices.filter(isObject) : [{ prices }];
  const rates = history.flatMap((item) => {
    const { prices: each, constraint } = item as JsonObject;
    if (!isObject(each)) return [];
    const rate = readPrices(reader, provider, id, each, problems);
    return rate.input === null && rate.output === null && rate.extras === undefined
      ? []
      : [{ ...rate, ...readConstraint(constraint) }];
  });
  if (problems.length > found || rates.length === 0) return null;
  return [...exactNames(id, entry.match)].flatMap((model) => rates.map((rate) => ({ ...rate, model })));
}

function readPrices(
  reader: PriceReader,
  provider: string,
  model: string,
  prices: JsonObject,
  problems: RateProblem[],
): PublishedRate {
  const base: Partial<Record<Field, string>> = {};
  const tiers = new Map<number, Partial<Record<Field, string>>>();
  for (const [key, price] of Object.entries(prices)) {
    if (price === null || !Object.hasOwn(PRICE_KEYS, key)) continue;
    const [field, unit] = PRICE_KEYS[key]!;
    const tiered = isObject(price) ? price : { base: price };
    const rate = reader.price(tiered, "base", unit);
    if (rate !== undefined) base[field] = rate;
    for (const tier of Array.isArray(tiered.tiers) ? tiered.tiers : []) {
      const start = isObject(tier) ? Number(tier.start) : Number.NaN;
      const above = isObject(tier) ? reader.price(tier, "price", unit) : undefined;
      if (!TOKEN_FIELDS.has(field) || !Number.isSafeInteger(start) || above === undefined) {
        addProblem(problems, { provider, model, field: key, problem: "has a tier that is not known" });
        continue;
      }
      tiers.set(start, { ...tiers.get(start), [field]: above });
    }
  }
  const { input, output, cache_read, cache_write, cache_write_1h, thinking, per_request, ...extras } = base;
  return {
    provider,
    model,
    ...nullable({ input, output, cache_read, cache_write, cache_write_1h }),
    ...(tiers.size > 0 && { tiers: fillTiers([...tiers].map(publishedTier)) }),
    ...(thinking !== undefined && { thinking }),
    ...(per_request !== undefined && { per_request }),
    ...(Object.keys(extras).length > 0 && { extras: extras as Record<string, string> }),
  };
}

function publishedTier([start, rates]: [number, Partial<Record<Field, string>>]): PublishedTier {
  return { above_tokens: start, ...nullable(rates) };
}

function nullable(rates: Partial<Record<Field, string | undefined>>): PublishedTokenRates {
  const { input = null, output = null, cache_read = null, cache_write = null, cache_write_1h } = rates;
  return {
    ...{ input, output, cache_read, cache_write },
    ...(cache_write_1h !== undefined && { cache_write_1h }),
  };
}

function readConstraint(constraint: unknown): Pick<PublishedRate, "effective_from" | "daily"> {
  if (!isObject(constraint)) return {};
  const { start_date, start_time, end_time } = constraint;
  if (typeof start_date === "string") return { effective_from: start_date };
  if (typeof start_time !== "string" || typeof end_time !== "string") return {};
  return { daily: { from: start_time.replace(/Z$/, ""), to: end_time.replace(/Z$/, "") } };
}

/** Returns the id and the names that a clause lists with `equals`. Names by prefix follow from the id without its date. */
function exactNames(id: string, match: unknown, names = new Set([id])): Set<string> {
  if (!isObject(match) || names.size >= MAX_NAMES) return names;
  const { equals, or } = match;
  if (typeof equals === "string") names.add(equals);
  if (Array.isArray(or)) for (const clause of or) exactNames(id, clause, names);
  return names;
}
