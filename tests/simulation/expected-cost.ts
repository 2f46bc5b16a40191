import { calcPrice, type ModelPrice } from "@pydantic/genai-prices";
import type { SimulatedCall } from "./simulated-call.ts";

const priceLists: Readonly<Record<string, string>> = { xai: "x-ai", gemini: "google" };

/**
 * Returns the cost of a call in pico-USD by the published price list: the sum of each count times its rate, computed
 * independently of `core/pricing`. Returns `null` if input or output are not stated or the model has no price. A cost stated
 * by the provider takes precedence. Throws for service tiers other than OpenAI's flex (half price), so that a test never
 * relies on a guess.
 */
export function expectedCostPicoUsd(entry: SimulatedCall, at: Date = new Date()): bigint | null {
  if (entry.providerCostPicoUsd !== null) return entry.providerCostPicoUsd;
  // A server on the user's machine is free, whatever it states.
  if (entry.provider === "ollama") return 0n;
  const { promptTokens, completionTokens } = entry.tokens;
  if (promptTokens === null || completionTokens === null) return null;
  const model = entry.model ?? entry.requestedModel ?? "";
  const prices = findPrices(model, priceLists[entry.provider] ?? entry.provider, at);
  if (prices === null) return null;

  const read = entry.tokens.cacheReadTokens ?? 0;
  const write = entry.tokens.cacheWriteTokens ?? 0;
  const write1h = entry.tokens.cacheWrite1hTokens ?? 0;
  const totalInput = promptTokens + read + write;
  const costOf = (count: number, key: string): bigint =>
    count === 0 ? 0n : BigInt(count) * microUsdPerMillion(prices, key, totalInput);
  const audioInput = entry.extras.audio_input_tokens ?? 0;
  const audioOutput = entry.extras.audio_output_tokens ?? 0;
  const tokenCost =
    costOf(promptTokens - audioInput, "input_mtok") +
    costOf(audioInput, "input_audio_mtok") +
    costOf(read, prices.cache_read_mtok === undefined ? "input_mtok" : "cache_read_mtok") +
    costOf(write - write1h, prices.cache_write_mtok === undefined ? "input_mtok" : "cache_write_mtok") +
    costOf(write1h, "cache_write_1h_mtok") +
    costOf(completionTokens - audioOutput + (entry.tokens.thinkingTokens ?? 0), "output_mtok") +
    costOf(audioOutput, "output_audio_mtok");
  // Searches are priced per thousand, tokens per million.
  const searches = costOf(entry.extras.web_search_requests ?? 0, "web_searches_kcount") * 1_000n;
  return tokenCost / tierDivisor(entry) + searches;
}

function tierDivisor({ provider, serviceTier }: SimulatedCall): bigint {
  if (serviceTier === null || serviceTier === "standard" || serviceTier === "default") return 1n;
  if (provider === "openai" && serviceTier === "flex") return 2n;
  throw new RangeError(`no factor for the service tier: ${serviceTier}`);
}

function findPrices(model: string, providerId: string, timestamp: Date): ModelPrice | null {
  try {
    return calcPrice({}, model, { providerId, timestamp })?.model_price ?? null;
  } catch {
    // The list does not contain the provider, such as one for local models.
    return null;
  }
}

/** Returns a rate in micro-USD per million tokens, which equals pico-USD per token. */
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
