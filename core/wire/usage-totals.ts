import * as v from "valibot";
import { costSum, count } from "./fields.ts";

/** The five sums, each over what was stated. */
const tokenSums = {
  prompt_tokens: count,
  completion_tokens: count,
  cache_read_tokens: count,
  cache_write_tokens: count,
  thinking_tokens: count,
};

/** What a machine has delivered, and what it costs by its own and by the cloud's account. */
export const deliveredTotalsSchema = v.object({
  requests: count,
  ...tokenSums,
  /** The cloud's own cost. */
  cost_pico_usd: costSum,
  /** The sum of what the daemon sent. */
  reported_cost_pico_usd: costSum,
});

/** The totals of a period, a project, a model. */
export const usageTotalsSchema = v.object({
  requests: count,
  /** Answered with an error, or not at all. */
  failed_requests: count,
  ...tokenSums,
  cost_pico_usd: costSum,
  /** Without a known rate: the cost leaves them out. */
  unpriced_requests: count,
  /** Whose usage the provider did not state in full. */
  incomplete_requests: count,
});

/** What was used in a period. */
export type UsageTotals = v.InferOutput<typeof usageTotalsSchema>;
