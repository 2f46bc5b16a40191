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
  "anthropic-aws": "anthropic",
  voyage: "voyageai",
  cloudflare: "cloudflare-workers-ai",
  alibaba: "dashscope",
  // A plan covers the calls; their worth is the price of the same call without it.
  "alibaba-coding-plan": "dashscope",
  "alibaba-token-plan": "dashscope",
  "qwen-code": "dashscope",
  "alibaba-coding-plan-cn": "alibaba-cn",
  "alibaba-token-plan-cn": "alibaba-cn",
  "zai-coding-plan": "zai",
  "zhipuai-coding-plan": "zhipuai",
  "kimi-for-coding": "moonshotai",
  "volcengine-coding-plan": "volcengine",
  "opencode-go": "opencode",
};

/**
 * The lists to search if a reseller's own list lacks the model. A reseller sells these makers' models at their prices.
 * Source: `fallback_model_providers` of `@pydantic/genai-prices`; a test compares the two. Those after the first two are ours:
 * GitHub Copilot, OpenCode Zen and the responses of Cloudflare's AI Gateway name models as their makers do.
 */
export const FALLBACK_PRICE_LISTS: Readonly<Record<string, readonly string[]>> = {
  azure: ["openai", "anthropic", "deepseek", "x-ai", "moonshotai"],
  google: ["anthropic"],
  "github-copilot": ["openai", "anthropic", "google", "x-ai"],
  opencode: ["openai", "anthropic", "google", "x-ai", "moonshotai"],
  "cloudflare-ai-gateway": ["openai", "anthropic", "google", "x-ai", "mistral", "deepseek"],
};

/**
 * Returns the names of the lists that can have a price for a provider's models. `named` is the list that the operator named for
 * the provider.
 */
export function listsFor(provider: string, named?: string): string[] {
  const lists = named === undefined ? [provider] : [provider, named];
  return lists.map(priceListOf).flatMap((list) => [list, ...fallbackLists(list)]);
}

/** Returns the lists to search if this one lacks a model. */
export function fallbackLists(list: string): readonly string[] {
  return Object.hasOwn(FALLBACK_PRICE_LISTS, list) ? FALLBACK_PRICE_LISTS[list]! : [];
}

/** Returns the name of a provider's price list. */
export function priceListOf(provider: string): string {
  const name = provider.trim().toLowerCase();
  return Object.hasOwn(PRICE_LIST_OF, name) ? PRICE_LIST_OF[name]! : name;
}
