import type { Millis } from "../values/time.ts";
import type { Explanation } from "./explain-request.ts";
import { priceListOf } from "./provider-names.ts";
import { sourcesOf } from "./sources/price-sources.ts";

/** A model with requests that have no known price. */
export interface ModelWithoutPrice {
  readonly provider: string;
  readonly model: string;
  /** Whether the model has a rate, but not for all that the request used, such as its service tier. */
  readonly hasRate: boolean;
}

/** What to do about a missing price, for people. */
export interface PriceFix {
  /** A sentence that ends with a colon. */
  readonly text: string;
  /** Lines for the configuration file; empty if no price must be stated there. */
  readonly toml: readonly string[];
  /** Commands to run, in this order. */
  readonly commands: readonly string[];
}

/** When each public price list was last pulled; null if it never was. */
export type LastPulls = (source: string) => Millis | null;

/** A list that was pulled this recently does not have the price, in milliseconds. */
const FRESH_MS = 86_400_000;

const RECOMPUTE = "meter recompute-costs";

/** Models that have no price themselves, so that no list can have one. Sources: the pages named. */
const BILLED_BY_PART: readonly { provider: string; model: RegExp; reason: string }[] = [
  {
    // https://console.groq.com/docs/compound: the underlying models and tools are billed.
    provider: "groq",
    model: /^(?:groq\/)?compound/,
    reason:
      "is billed by the models that it runs, which the response does not state (usage_breakdown). No list can price it. For an estimate, state an average price in config.toml",
  },
];

/**
 * Returns how a model gets a price: from a public price list of its provider that was not pulled in the last day, otherwise
 * from the configuration. A model that is billed by its parts gets the reason instead of a list. Returns null if the model has a
 * rate and no list can add what is missing.
 */
export function findPriceFix(
  { provider, model, hasRate }: ModelWithoutPrice,
  lastPull: LastPulls,
  now: Millis,
): PriceFix | null {
  const byPart = BILLED_BY_PART.find((each) => each.provider === provider && each.model.test(model));
  const source = sourcesOf(priceListOf(provider)).find((name) => {
    const at = lastPull(name);
    return at === null || now - at > FRESH_MS;
  });
  if (source !== undefined && byPart === undefined)
    return {
      text: `The price list ${source} covers ${provider}. Pull it and price the stored requests:`,
      toml: [],
      commands: [`meter pricing pull --source ${source}`, RECOMPUTE],
    };
  if (hasRate) return null;
  return {
    text: `${byPart === undefined ? "State the price in config.toml" : `${model} ${byPart.reason}`}, in USD per million tokens, then price the stored requests:`,
    toml: [
      "[[pricing.operator]]",
      `provider = ${JSON.stringify(provider)}`,
      `model = ${JSON.stringify(model)}`,
      'input = "…"',
      'output = "…"',
    ],
    commands: [RECOMPUTE],
  };
}

/** Returns how an explained request gets a price; null if it has one, or if its tokens are what is missing. */
export function fixOfExplanation(
  { request, priced }: Explanation,
  lastPull: LastPulls,
  now: Millis,
): PriceFix | null {
  const { promptTokens } = request.tokens;
  if (priced.costPicoUsd !== null || promptTokens === null) return null;
  const { provider, model } = request;
  return findPriceFix({ provider, model, hasRate: priced.row !== null }, lastPull, now);
}

/**
 * Returns how a request that was stored without a price gets one, and others of its model. The rates in force may have the price
 * that those of that time lacked.
 */
export function fixOfUnpriced(explanation: Explanation, lastPull: LastPulls, now: Millis): PriceFix | null {
  if (explanation.priced.costPicoUsd === null) return fixOfExplanation(explanation, lastPull, now);
  const text = "The rates in force have the price. Price the stored requests:";
  return { text, toml: [], commands: [RECOMPUTE] };
}

/** Returns each different fix once, in order. */
export function distinctFixes(fixes: readonly (PriceFix | null)[]): PriceFix[] {
  const found = fixes.filter((fix) => fix !== null);
  return [...new Map(found.map((fix) => [JSON.stringify(fix), fix])).values()];
}

/** How models get a price on a cloud: what its administrator publishes. */
export interface PricePublication {
  /** A sentence that ends with a colon. */
  readonly text: string;
  /** The lines of the file to publish, in which the prices are still to be filled in. */
  readonly json: readonly string[];
  readonly command: string;
}

/**
 * Returns how models without a rate on a cloud get one. All are in one file, because a cloud publishes rates once a
 * day. Stored requests keep their cost.
 */
export function findPublication(
  models: readonly Pick<ModelWithoutPrice, "provider" | "model">[],
  now: Millis,
): PricePublication {
  const rates = models.map(({ provider, model }) => ({ provider, model, input: "…", output: "…" }));
  const file = { published_at: new Date(now).toISOString(), unit: "usd_per_million_tokens", rates };
  return {
    text: "The administrator of this server can publish prices. They apply to requests that arrive afterwards. State them in rates.json, in USD per million tokens:",
    json: JSON.stringify(file, null, 2).split("\n"),
    command: "meter-cloud rates publish rates.json",
  };
}
