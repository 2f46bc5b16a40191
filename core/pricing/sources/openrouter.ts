import { isObject, type JsonObject } from "../../values/json-object.ts";
import type { PublishedRate, PublishedTier } from "../../wire/pricing-rates.ts";
import type { RateProblem } from "../published-rates.ts";
import { createPriceReader, definedFields, fillTiers, type PriceReader, tokenRates } from "./price-fields.ts";

/**
 * Reads a model of OpenRouter's `GET /api/v1/models`: `pricing` has decimal texts in USD per token, image or request, and
 * `overrides` for prompts from a number of tokens up. A price of 0 is free; -1 depends on the model that a router picks, so
 * such a model has no price here. Source: https://openrouter.ai/docs/api-reference/list-available-models.
 *
 * Decision: an override from 272,000 tokens up applies above 272,000, as the makers of these models word it. The texts
 * differ for a prompt of exactly that size.
 */
export function readOpenRouterModel(entry: JsonObject, problems: RateProblem[]): PublishedRate | null {
  const { id, pricing } = entry;
  if (typeof id !== "string" || !isObject(pricing)) return null;
  if (Object.values(pricing).some((price) => typeof price === "string" && price.startsWith("-"))) return null;
  const reader = createPriceReader("openrouter", id, problems);
  const found = problems.length;
  const base = pricingRates(reader, pricing);
  if (base.input === null && base.output === null) return null;
  const tiers = readOverrides(reader, pricing);
  const thinking = reader.price(pricing, "internal_reasoning", "one");
  const perRequest = reader.price(pricing, "request", "one");
  const extras = definedFields({
    audio_input_tokens: reader.price(pricing, "audio", "one"),
    audio_output_tokens: reader.price(pricing, "audio_output", "one"),
    audio_cache_read_tokens: reader.price(pricing, "input_audio_cache", "one"),
    image_output_tokens: reader.price(pricing, "image_output", "one"),
    web_search_requests: reader.price(pricing, "web_search", "one"),
  });
  if (problems.length > found) return null;
  return {
    provider: "openrouter",
    model: id,
    ...base,
    ...(tiers.length > 0 && { tiers }),
    ...(thinking !== undefined && thinking !== "0" && thinking !== base.output && { thinking }),
    ...(perRequest !== undefined && perRequest !== "0" && { per_request: perRequest }),
    ...(extras !== undefined && { extras }),
  };
}

const pricingRates = (reader: PriceReader, pricing: JsonObject) =>
  tokenRates(reader, pricing, "one", {
    input: "prompt",
    output: "completion",
    cache_read: "input_cache_read",
    cache_write: "input_cache_write",
    cache_write_1h: "input_cache_write_1h",
  });

function readOverrides(reader: PriceReader, pricing: JsonObject): PublishedTier[] {
  const list = pricing.overrides;
  return fillTiers(
    (Array.isArray(list) ? list : []).filter(isObject).flatMap((override) => {
      const from = Number(override.min_prompt_tokens);
      return Number.isSafeInteger(from) && from > 0
        ? [{ above_tokens: from, ...pricingRates(reader, override) }]
        : [];
    }),
  );
}
