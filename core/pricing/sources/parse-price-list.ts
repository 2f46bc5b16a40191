import { isObject, type JsonObject } from "../../values/json-object.ts";
import { parseWire } from "../../wire/parse.ts";
import type { PublishedRate } from "../../wire/pricing-rates.ts";
import { publishedRatesSchema } from "../../wire/pricing-rates.ts";
import type { RateProblem } from "../published-rates.ts";
import { readGenaiModel } from "./genai-prices.ts";
import { type RankedRate, readLiteLlmEntry } from "./litellm.ts";
import { readModelsDevModel } from "./models-dev.ts";
import { parseJsonWithNumberTexts } from "./number-texts.ts";
import { readOpenRouterModel } from "./openrouter.ts";
import { MAX_MODELS } from "./price-fields.ts";
import type { PriceFormat } from "./price-sources.ts";
import { MODELS_DEV_PROVIDERS, precedenceOf } from "./provider-lists.ts";

/** The rates of a price list, or why it can't be read. */
export type ParsedPriceList =
  | {
      readonly ok: true;
      readonly rates: readonly PublishedRate[];
      /** The number of models in the list. */
      readonly models: number;
      /** Prices that are not amounts. Their models are left out. */
      readonly problems: readonly RateProblem[];
    }
  | { readonly ok: false; readonly problem: string };

/** The models of a list and their rates. */
interface Collected {
  models: number;
  readonly ranked: RankedRate[];
  readonly problems: RateProblem[];
}

/**
 * Parses a price list from its published form. Prices are converted from their decimal texts, without floats. Never throws:
 * the text comes from the network.
 */
export function parsePriceList(text: string, format: PriceFormat): ParsedPriceList {
  const parsed = parseJsonWithNumberTexts(text);
  if (!parsed.ok) return parsed;
  if (format === "meter") return parseMeterList(text);
  const collected: Collected = { models: 0, ranked: [], problems: [] };
  const shape = COLLECTORS[format](parsed.value, collected);
  if (shape !== null) return { ok: false, problem: `is not in the format ${format}: ${shape}` };
  if (collected.models > MAX_MODELS) return { ok: false, problem: `has more than ${MAX_MODELS} models` };
  if (collected.ranked.length === 0) return { ok: false, problem: `has no prices in the format ${format}` };
  const { models, problems } = collected;
  return { ok: true, rates: withoutRepeats(collected.ranked), models, problems };
}

function parseMeterList(text: string): ParsedPriceList {
  const parsed = parseWire(publishedRatesSchema, JSON.parse(text));
  if (!parsed.ok) return { ok: false, problem: "is not in the format meter" };
  const { unit, rates } = parsed.value;
  if (unit !== "usd_per_million_tokens")
    return { ok: false, problem: "has another unit than usd_per_million_tokens" };
  return { ok: true, rates, models: rates.length, problems: [] };
}

/** Adds the models of a list. Returns what is wrong with its form, or null. */
type Collector = (value: unknown, into: Collected) => string | null;

const COLLECTORS: Readonly<Record<Exclude<PriceFormat, "meter">, Collector>> = {
  litellm: collectLiteLlm,
  "models.dev": collectModelsDev,
  "genai-prices": collectGenaiPrices,
  openrouter: collectOpenRouter,
};

function collectLiteLlm(value: unknown, into: Collected): string | null {
  if (!isObject(value)) return "an object of models is expected";
  for (const [key, entry] of Object.entries(value)) {
    if (!isObject(entry)) continue;
    into.models += 1;
    into.ranked.push(...(readLiteLlmEntry(key, entry, into.problems) ?? []));
  }
  return null;
}

function collectModelsDev(value: unknown, into: Collected): string | null {
  if (!isObject(value)) return "an object of providers is expected";
  for (const [source, provider] of Object.entries(value)) {
    const models = isObject(provider) ? provider.models : undefined;
    if (!isObject(models)) continue;
    for (const [model, entry] of Object.entries(models)) {
      into.models += 1;
      if (!isObject(entry)) continue;
      const rate = readModelsDevModel(source, model, entry, into.problems);
      if (rate !== null) into.ranked.push({ rate, precedence: precedenceOf(MODELS_DEV_PROVIDERS, source) });
    }
  }
  return null;
}

function collectGenaiPrices(value: unknown, into: Collected): string | null {
  if (!Array.isArray(value)) return "an array of providers is expected";
  for (const provider of value.filter(isObject)) {
    const { id, models } = provider;
    if (typeof id !== "string" || !Array.isArray(models)) continue;
    for (const entry of models.filter(isObject)) {
      into.models += 1;
      for (const rate of readGenaiModel(id, entry, into.problems) ?? [])
        into.ranked.push({ rate, precedence: rate.model === entry.id ? 0 : 1 });
    }
  }
  return null;
}

function collectOpenRouter(value: unknown, into: Collected): string | null {
  const data: unknown = isObject(value) ? value.data : undefined;
  if (!Array.isArray(data)) return "an object with an array `data` is expected";
  for (const entry of data.filter((item): item is JsonObject => isObject(item))) {
    into.models += 1;
    const rate = readOpenRouterModel(entry, into.problems);
    if (rate !== null) into.ranked.push({ rate, precedence: 0 });
  }
  return null;
}

/** Keeps one rate per provider, model, start and daily period: the one that takes precedence, or else the first. */
function withoutRepeats(ranked: readonly RankedRate[]): PublishedRate[] {
  const found = new Map<string, RankedRate>();
  for (const item of ranked) {
    const { provider, model, effective_from = null, daily = null } = item.rate;
    const key = JSON.stringify([provider, model.toLowerCase(), effective_from, daily]);
    const known = found.get(key);
    if (known === undefined || item.precedence < known.precedence) found.set(key, item);
  }
  return [...found.values()].map(({ rate }) => rate);
}
