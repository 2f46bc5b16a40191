import { isObject, type JsonObject } from "../../values/json-object.ts";
import type { PublishedRate, PublishedServiceTier, PublishedTier } from "../../wire/pricing-rates.ts";
import type { RateProblem } from "../published-rates.ts";
import { createPriceReader, definedFields, fillTiers, type PriceReader, tokenRates } from "./price-fields.ts";
import { listOf, MODELS_DEV_PROVIDERS } from "./provider-lists.ts";

/** Providers whose prices of 0 mean that a subscription covers the calls. */
const SUBSCRIPTIONS =
  /-(?:coding|token)-plan(?:-|$)|^(?:github-copilot|kimi-for-coding|opencode-go|iflowcn)$/;

/** The values of `service_tier` and `speed` that select a mode, and the service tier. */
const MODE_TIERS: Readonly<Record<string, string>> = { priority: "priority", flex: "flex", batch: "batch" };

const COST_FIELDS = {
  input: "input",
  output: "output",
  cache_read: "cache_read",
  cache_write: "cache_write",
  // No such field exists.
  cache_write_1h: "cache_write_1h",
} as const;

/**
 * Reads a model of models.dev's `api.json`: `cost` in USD per million tokens, with context tiers, and modes whose request
 * body selects a service tier. Returns null if it has no price. Source: https://models.dev/model-schema.json.
 */
export function readModelsDevModel(
  source: string,
  model: string,
  entry: JsonObject,
  problems: RateProblem[],
): PublishedRate | null {
  const cost = entry.cost;
  if (!isObject(cost) || SUBSCRIPTIONS.test(source)) return null;
  const provider = listOf(MODELS_DEV_PROVIDERS, source);
  const reader = createPriceReader(provider, model, problems);
  const found = problems.length;
  const base = costRates(reader, cost);
  if (base.input === null && base.output === null) return null;
  const tiers = readTiers(reader, cost);
  const thinking = reader.price(cost, "reasoning", "million");
  const extras = definedFields({
    audio_input_tokens: reader.price(cost, "input_audio", "million"),
    audio_output_tokens: reader.price(cost, "output_audio", "million"),
  });
  const services = readModes(reader, entry);
  if (problems.length > found) return null;
  return {
    provider,
    model,
    ...base,
    ...(tiers.length > 0 && { tiers }),
    ...(thinking !== undefined && thinking !== base.output && { thinking }),
    ...(extras !== undefined && { extras }),
    ...(services !== null && { service_tiers: services }),
  };
}

const costRates = (reader: PriceReader, cost: JsonObject) => tokenRates(reader, cost, "million", COST_FIELDS);

/** Reads `tiers`, or `context_over_200k` in lists without it. */
function readTiers(reader: PriceReader, cost: JsonObject): PublishedTier[] {
  const list = cost.tiers;
  if (!Array.isArray(list)) {
    const above = cost.context_over_200k;
    return isObject(above) ? [{ above_tokens: 200_000, ...costRates(reader, above) }] : [];
  }
  return fillTiers(
    list.filter(isObject).flatMap((item) => {
      const tier = item.tier;
      const size = isObject(tier) ? Number(tier.size) : Number.NaN;
      const isContext = isObject(tier) && (tier.type ?? "context") === "context";
      return isContext && Number.isSafeInteger(size)
        ? [{ above_tokens: size, ...costRates(reader, item) }]
        : [];
    }),
  );
}

function readModes(reader: PriceReader, entry: JsonObject): Record<string, PublishedServiceTier> | null {
  const experimental = entry.experimental;
  const modes = isObject(experimental) ? experimental.modes : undefined;
  if (!isObject(modes)) return null;
  const found: Record<string, PublishedServiceTier> = {};
  for (const mode of Object.values(modes)) {
    const { cost, provider } = isObject(mode) ? mode : {};
    const body = isObject(provider) ? provider.body : undefined;
    const tier = isObject(body) ? body.service_tier : undefined;
    if (typeof tier !== "string" || !Object.hasOwn(MODE_TIERS, tier) || !isObject(cost)) continue;
    found[MODE_TIERS[tier]!] = costRates(reader, cost);
  }
  return Object.keys(found).length === 0 ? null : found;
}
