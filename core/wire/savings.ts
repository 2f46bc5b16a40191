import * as v from "valibot";
import { costSum, count, instant } from "./fields.ts";

/** What prompt caches saved: reads cost less than fresh input, and writes more. Computed with the rates in force at the time. */
const cacheSaving = {
  /** What reading from caches saved of the money spent. */
  reads_saved_pico_usd: costSum,
  /** What writing to caches cost more than fresh input. */
  writes_cost_pico_usd: costSum,
  /** `reads_saved_pico_usd` minus `writes_cost_pico_usd`. It may be negative. */
  saved_pico_usd: costSum,
  /** The same for calls that a plan covers, at API prices. It is no saved money. */
  plan_saved_pico_usd: costSum,
};

/** A finding: where money could be saved. */
const finding = v.object({
  /** A stable code, such as `repeated_prompt`. */
  kind: v.string(),
  provider: v.string(),
  model: v.string(),
  project: v.nullable(v.string()),
  requests: count,
  /** What was spent on these requests. */
  cost_pico_usd: costSum,
  /** The cost of the requests whose payer is unknown. Neither of the other amounts includes it. */
  unknown_billing_pico_usd: costSum,
  /** How much of the money spent could have been saved; null if it would be a guess. */
  saving_pico_usd: v.nullable(costSum),
  /** A sentence for people. */
  summary: v.string(),
  /** The query string that shows the requests. */
  query: v.string(),
});

/** The response of `GET /v1/savings` and `GET /v1/workspaces/{ws}/savings`. */
export const savingsAnswerSchema = v.object({
  /** The query in its shortest form: a period and filters. */
  query: v.string(),
  /** The zone of days and buckets. */
  tz: v.string(),
  period: v.object({
    from: instant,
    /** Exclusive. */
    to: instant,
    /** The period in words, without its zone. */
    label: v.string(),
  }),
  /** The requested start, if it was before the retention floor. The period then starts later. */
  clamped_from: v.nullable(instant),
  requests: count,
  cache: v.object({
    ...cacheSaving,
    /** Input tokens that were read from caches, written to them, and neither; null if no request stated the count. */
    read_tokens: v.nullable(count),
    write_tokens: v.nullable(count),
    fresh_tokens: v.nullable(count),
    /** Requests that used a cache but are in none of the amounts: a plan may have paid some of them, or their rates are unknown. */
    uncounted_requests: count,
  }),
  /** All buckets of the period. They add up to `cache`. */
  buckets: v.array(
    v.object({
      from: instant,
      to: instant,
      label: v.string(),
      ...cacheSaving,
      read_tokens: v.nullable(count),
      input_tokens: v.nullable(count),
      /** All requests of its time, with caches and without. */
      requests: count,
    }),
  ),
  /** The largest savings first, then the findings without a figure. */
  findings: v.array(finding),
  /** How many further findings there are. */
  more_findings: count,
  /** The requests that were searched for repeated prompts: the newest, from `since`; all of the period if that is null. */
  repeats: v.object({ searched: count, since: v.nullable(instant) }),
});
export type SavingsAnswer = v.InferOutput<typeof savingsAnswerSchema>;
