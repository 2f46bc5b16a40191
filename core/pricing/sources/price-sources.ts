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

/** The price lists that LiteLLM's list has prices for. */
const LITELLM_LISTS =
  "ai21 anthropic assemblyai aws azure baseten cerebras cloudflare-workers-ai cohere dashscope databricks deepgram deepinfra " +
  "deepseek elevenlabs fireworks friendli google groq hyperbolic inception jina minimax mistral moonshotai morph nebius novita " +
  "oci openai openrouter ovhcloud perplexity replicate sambanova scaleway together vercel volcengine voyageai watsonx x-ai zai";

/** The price lists that models.dev has prices for. */
const MODELS_DEV_LISTS =
  "alibaba-cn anthropic aws azure baseten cerebras chutes cloudflare-ai-gateway cloudflare-workers-ai cohere dashscope " +
  "databricks deepinfra deepseek fireworks friendli github-models google groq helicone huggingface inception llama minimax " +
  "mistral moonshotai morph nebius novita nvidia openai opencode openrouter ovhcloud perplexity requesty scaleway siliconflow " +
  "stepfun together upstage venice vercel x-ai xiaomi zai zhipuai";

/** The price lists of each public source, in the order in which they are suggested. Read on 2026-11-23. */
const COVERED: readonly (readonly [source: PriceSource["name"], lists: ReadonlySet<string>])[] = [
  ["openrouter", new Set(["openrouter"])],
  ["litellm", new Set(LITELLM_LISTS.split(" "))],
  ["models.dev", new Set(MODELS_DEV_LISTS.split(" "))],
];

/** Returns the public sources that have prices of a provider's list, best first. */
export function sourcesOf(list: string): PriceSource["name"][] {
  return COVERED.filter(([, lists]) => lists.has(list)).map(([source]) => source);
}
