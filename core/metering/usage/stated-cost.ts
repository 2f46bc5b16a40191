import { parseDecimalToPico } from "../../pricing/decimal.ts";
import { MAX_COST_PICO_USD } from "../../pricing/money.ts";
import { compileMemberPaths, parseJson, pickMembers } from "./member-picker.ts";
import { asObject } from "./token-counts.ts";

/** One tick is 10^-10 USD. Source: docs.x.ai/developers/cost-tracking, read 2026-11-21. */
const PICO_USD_PER_TICK = 100n;

const MEMBERS = compileMemberPaths([
  "cost_in_usd_ticks",
  "cost",
  "is_byok",
  "cost_details.upstream_inference_cost",
]);

const PERPLEXITY_COST = compileMemberPaths(["cost.total_cost"]);

/**
 * Reads the cost that the provider states in its usage object, in pico-USD. Returns null if there is none, or if it exceeds
 * the maximum cost of a call. The number's text is parsed exactly, without floating point.
 *
 * - xAI: `cost_in_usd_ticks`, the billed amount including tools.
 * - OpenRouter: `cost`, the amount charged to the account. With the caller's own provider key (`is_byok`), this is only
 *   OpenRouter's fee, and `cost_details.upstream_inference_cost` is what the provider charges the caller.
 *   Decision: both are spent on the call, so with `is_byok` they are added.
 * - Perplexity: `cost.total_cost`.
 */
export function readStatedCost(provider: string, usageText: string | null): bigint | null {
  const cost = usageText === null ? null : statedCost(provider, usageText);
  return cost !== null && cost <= MAX_COST_PICO_USD ? cost : null;
}

/**
 * Reads what Vercel's AI Gateway states of a call in `gateway` of the provider's metadata: `cost` is what it charges, in USD as
 * text. Returns null if it charges nothing for a call that has a price (`marketCost`): the caller's own provider key pays.
 */
export function readGatewayCost(gateway: unknown): bigint | null {
  const { cost, marketCost } = asObject(gateway);
  const charged = typeof cost === "string" ? costOf(cost) : null;
  if (charged === null || charged > MAX_COST_PICO_USD) return null;
  const market = typeof marketCost === "string" ? costOf(marketCost) : null;
  return charged === 0n && market !== null && market > 0n ? null : charged;
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

/** Parses an amount. Negative amounts and quoted numbers count as not stated. */
function costOf(text: string | null): bigint | null {
  const cost = text === null ? null : parseDecimalToPico(text.trim());
  return cost !== null && cost >= 0n ? cost : null;
}
