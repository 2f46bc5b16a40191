/**
 * Price lists by provider, for providers whose list has another name: an API that is sold under several names has one list.
 */
const PRICE_LIST_OF: Readonly<Record<string, string>> = {
  gemini: "google",
  vertex: "google",
  "code-assist": "google",
  bedrock: "aws",
  codex: "openai",
  moonshot: "moonshotai",
  xai: "x-ai",
};

/**
 * The lists to search if a reseller's own list lacks the model. A reseller sells these makers' models at their prices.
 * Source: `fallback_model_providers` of `@pydantic/genai-prices`; a test compares the two.
 */
export const FALLBACK_PRICE_LISTS: Readonly<Record<string, readonly string[]>> = {
  azure: ["openai", "anthropic", "deepseek", "x-ai", "moonshotai"],
  google: ["anthropic"],
};

/** Returns the name of a provider's price list. */
export function priceListOf(provider: string): string {
  const name = provider.trim().toLowerCase();
  return Object.hasOwn(PRICE_LIST_OF, name) ? PRICE_LIST_OF[name]! : name;
}
