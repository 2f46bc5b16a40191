/**
 * The provider whose price list applies, where the registry's name differs from the price list's: an API that is sold
 * under several names has one list.
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
 * Whose lists are asked next when a reseller's own list lacks the model: it sells these makers' models at their price.
 * Source: `fallback_model_providers` of `@pydantic/genai-prices`; a test compares the two.
 */
export const FALLBACK_PRICE_LISTS: Readonly<Record<string, readonly string[]>> = {
  azure: ["openai", "anthropic", "deepseek", "x-ai", "moonshotai"],
  google: ["anthropic"],
};

/** The name under which the price list knows a provider. */
export function priceListOf(provider: string): string {
  const name = provider.trim().toLowerCase();
  return Object.hasOwn(PRICE_LIST_OF, name) ? PRICE_LIST_OF[name]! : name;
}
