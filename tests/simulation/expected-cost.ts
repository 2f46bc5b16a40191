import { calcPrice, type ModelPrice } from "@pydantic/genai-prices";
import type { LedgerEntry } from "./ledger.ts";

const priceLists: Readonly<Record<string, string>> = { xai: "x-ai" };

/**
 * What a call costs in pico-USD by the published price list, worked out in the plainest way and apart from
 * `core/pricing`: a count times its rate, summed. `null` where nothing is known to price. A cost that the provider
 * states wins. Throws for what this table can't price (service tiers other than the usual one, a count without rate),
 * so that a test does not take a guess for the truth.
 */
export function expectedCostPicoUsd(entry: LedgerEntry, at: Date = new Date()): bigint | null {
  if (entry.providerCostPicoUsd !== null) return entry.providerCostPicoUsd;
  const {
    promptTokens,
    cacheReadTokens,
    cacheWriteTokens,
    cacheWrite1hTokens,
    completionTokens,
    thinkingTokens,
  } = entry.tokens;
  if (promptTokens === null && completionTokens === null) return null;
  if (!["standard", "default", null].includes(entry.serviceTier)) {
    throw new RangeError(`no factor for the service tier: ${entry.serviceTier}`);
  }
  const model = entry.model ?? entry.requestedModel ?? "";
  const providerId = priceLists[entry.provider] ?? entry.provider;
  const prices = findPrices(model, providerId, at);
  if (prices === null) return null;

  const read = cacheReadTokens ?? 0;
  const write = cacheWriteTokens ?? 0;
  const write1h = cacheWrite1hTokens ?? 0;
  const totalInput = (promptTokens ?? 0) + read + write;
  const costOf = (count: number, key: string): bigint => {
    if (count === 0) return 0n;
    return BigInt(count) * microUsdPerMillion(prices, key, totalInput);
  };
  return (
    costOf(promptTokens ?? 0, "input_mtok") +
    costOf(read, "cache_read_mtok") +
    costOf(write - write1h, "cache_write_mtok") +
    costOf(write1h, "cache_write_1h_mtok") +
    costOf((completionTokens ?? 0) + (thinkingTokens ?? 0), "output_mtok") +
    // Priced for a thousand: a thousand times the price for a million tokens.
    costOf(entry.extras.web_search_requests ?? 0, "web_searches_kcount") * 1_000n
  );
}

function findPrices(model: string, providerId: string, timestamp: Date): ModelPrice | null {
  try {
    return calcPrice({}, model, { providerId, timestamp })?.model_price ?? null;
  } catch {
    // The list does not know the provider, as with models that run at home.
    return null;
  }
}

/** One token at a rate of r micro-USD for a million costs exactly r pico-USD. */
function microUsdPerMillion(prices: ModelPrice, key: string, totalInput: number): bigint {
  const price = prices[key];
  if (price === undefined) throw new RangeError(`no rate for ${key}`);
  const usd =
    typeof price === "number"
      ? price
      : ([...price.tiers].sort((a, b) => b.start - a.start).find((tier) => totalInput > tier.start)?.price ??
        price.base);
  return BigInt(Math.round(usd * 1e6));
}
