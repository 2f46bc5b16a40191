/** The formats of price lists; `meter` is the one that a cloud publishes. */
export const PRICE_FORMATS = ["litellm", "models.dev", "genai-prices", "openrouter", "meter"] as const;

/** The format of a price list. */
export type PriceFormat = (typeof PRICE_FORMATS)[number];

/** A public price list. */
export interface PriceSource {
  /** The name in commands and in `[pricing] source`. */
  readonly name: Exclude<PriceFormat, "meter">;
  readonly url: string;
  /** What the list covers, for people. */
  readonly description: string;
}

/** The public price lists, each in the format of its own name. */
export const PRICE_SOURCES: readonly PriceSource[] = [
  {
    name: "litellm",
    url: "https://raw.githubusercontent.com/BerriAI/litellm/main/model_prices_and_context_window.json",
    description: "about 3,000 models of most providers, with batch, flex and priority prices",
  },
  {
    name: "models.dev",
    url: "https://models.dev/api.json",
    description: "about 4,500 models of 140 providers",
  },
  {
    name: "genai-prices",
    url: "https://raw.githubusercontent.com/pydantic/genai-prices/main/prices/new_data/v2/data.json",
    description: "about 1,300 models, with price histories; the source of the bundled rates",
  },
  {
    name: "openrouter",
    url: "https://openrouter.ai/api/v1/models",
    description: "the models of OpenRouter, with its free models",
  },
];

/** Returns the public price list of this name, or null. */
export function findPriceSource(name: string): PriceSource | null {
  return PRICE_SOURCES.find((source) => source.name === name) ?? null;
}
