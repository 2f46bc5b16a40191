import { parseDecimalToPico } from "../pricing/decimal.ts";
import { MAX_COST_PICO_USD } from "../pricing/money.ts";
import { parseJson, pickMembers, wantMembers } from "./member-picker.ts";

/** One tick is 10^-10 USD. Source: docs.x.ai/developers/cost-tracking, read 2026-11-21. */
const PICO_USD_PER_TICK = 100n;

const MEMBERS = wantMembers(["cost_in_usd_ticks", "cost", "is_byok", "cost_details.upstream_inference_cost"]);

const PERPLEXITY_COST = wantMembers(["cost.total_cost"]);

/**
 * The cost that the provider states in its usage object, in pico-USD; null where it states none, or more than any call can
 * cost. It is read from the number's own text: no floating point comes near it.
 *
 * - xAI: `cost_in_usd_ticks`, what was billed, tools included.
 * - OpenRouter: `cost`, what was taken from the account. With a key of the caller's own (`is_byok`) that is the fee alone,
 *   and `cost_details.upstream_inference_cost` is what the caller's own account pays the provider.
 *   Decision: both are money spent on this call, so with `is_byok` they are added.
 * - Perplexity: `cost.total_cost`.
 */
export function readStatedCost(provider: string, usageText: string | null): bigint | null {
  const cost = usageText === null ? null : statedCost(provider, usageText);
  return cost !== null && cost <= MAX_COST_PICO_USD ? cost : null;
}

function statedCost(provider: string, usageText: string): bigint | null {
  const bytes = () => new TextEncoder().encode(usageText);
  switch (provider) {
    case "xai": {
      const ticks = pickMembers(bytes(), MEMBERS).text("cost_in_usd_ticks")?.trim() ?? "";
      return /^\d{1,30}$/.test(ticks) ? BigInt(ticks) * PICO_USD_PER_TICK : null;
    }
    case "openrouter": {
      const members = pickMembers(bytes(), MEMBERS);
      const cost = costOf(members.text("cost"));
      if (cost === null || parseJson(members.text("is_byok")) !== true) return cost;
      return cost + (costOf(members.text("cost_details.upstream_inference_cost")) ?? 0n);
    }
    case "perplexity":
      return costOf(pickMembers(bytes(), PERPLEXITY_COST).text("cost.total_cost"));
    default:
      return null;
  }
}

/** A member's text as an amount; a negative one is not stated, and a string of digits is no number. */
function costOf(text: string | null): bigint | null {
  const cost = text === null ? null : parseDecimalToPico(text.trim());
  return cost !== null && cost >= 0n ? cost : null;
}
