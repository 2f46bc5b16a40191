import * as v from "valibot";
import { costSum, count, maybe } from "./fields.ts";

/** The five token sums. Counts that a provider did not state are not included. */
const tokenSums = {
  prompt_tokens: count,
  completion_tokens: count,
  cache_read_tokens: count,
  cache_write_tokens: count,
  thinking_tokens: count,
};

/** The requests that a machine has delivered, with their cost as computed by the cloud and by the daemon. */
export const deliveredTotalsSchema = v.object({
  requests: count,
  ...tokenSums,
  /** The cost computed by the cloud. */
  cost_pico_usd: costSum,
  /** The sum of the costs that the daemon sent. */
  reported_cost_pico_usd: costSum,
});

/** The totals of a period, project or model. */
export const usageTotalsSchema = v.object({
  requests: count,
  /** Requests with an error response or no response. */
  failed_requests: count,
  /** Calls that a budget refused. They are in `requests`, and did not fail. Absent from answers of older versions. */
  blocked_requests: maybe(count),
  ...tokenSums,
  /** The cost of all requests at API prices, plan usage included. The next three add up to it. */
  cost_pico_usd: costSum,
  /** The part that was billed by usage. */
  spent_pico_usd: costSum,
  /** The part covered by plans, at API prices. Never part of what was spent. */
  plan_usage_pico_usd: costSum,
  /** The part of which it is unknown who pays. */
  unknown_billing_pico_usd: costSum,
  /** Requests without a known rate. Their cost is not included. */
  unpriced_requests: count,
  /** Requests whose usage the provider did not state in full. */
  incomplete_requests: count,
});

/** Usage and cost totals. */
export type UsageTotals = v.InferOutput<typeof usageTotalsSchema>;
