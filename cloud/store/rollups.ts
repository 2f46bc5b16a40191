import { billingModesSql } from "../../core/pricing/cost-split.ts";
import { EFFECTIVE_BILLING_SQL } from "../../core/values/billing.ts";

/** The machine in a rollup's key for requests that came with an admin key. */
export const NO_MACHINE = "00000000-0000-0000-0000-000000000000";

/** The dimensions of a rollup's key besides workspace and time. */
export const ROLLUP_KEY = "machine_id, user_id, project, provider, model";

/** The dimensions of a key of the sums by branch, besides workspace and time. */
export const BRANCH_KEY = "project, git_branch, provider, model";

/** The dimensions of a key of the sums by model, besides workspace and time. */
export const MODEL_KEY = "provider, model";

/** The disjoint kinds of tokens. Each has a sum. */
export const TOKEN_SUMS = [
  "prompt_tokens",
  "completion_tokens",
  "cache_read_tokens",
  "cache_write_tokens",
  "thinking_tokens",
] as const;

/** The sums that reports show. */
export const USAGE_SUMS = [
  "requests",
  "failed_requests",
  "unpriced_requests",
  "incomplete_requests",
  ...TOKEN_SUMS,
  "cost_pico_usd",
  "spent_pico_usd",
  "plan_usage_pico_usd",
] as const;

/** All sums of a rollup. */
export const ROLLUP_SUMS = [...USAGE_SUMS, "reported_cost_pico_usd"] as const;

/** SQL for whether a row of `requests` failed; null if neither its class nor its status is known. */
export const FAILED = "(error_class is not null or http_status >= 400)";

/** SQL for whether a request used no tokens. If it also failed, it does not count as unpriced. */
const USED_NOTHING = `${TOKEN_SUMS.map((sum) => `coalesce(${sum}, 0)`).join(" + ")} = 0`;

/** SQL for whether a request has no known price. */
export const UNPRICED = `(cost_pico_usd is null and not (${FAILED} is true and ${USED_NOTHING}))`;

/** SQL for the parts of the cost, by their sums. The rest of the cost has unknown billing. */
const COST_PARTS: Readonly<Record<string, string>> = {
  spent_pico_usd: `case when ${EFFECTIVE_BILLING_SQL} in (${billingModesSql("spentPicoUsd")}) then cost_pico_usd end`,
  plan_usage_pico_usd: `case when ${EFFECTIVE_BILLING_SQL} = 'plan' then cost_pico_usd end`,
};

/** The sums of reports, with those that the rollups do not have. */
export const REPORTED_SUMS = [...USAGE_SUMS, "blocked_requests"] as const;

/** The select list of the sums of reports over rows that have those of the rollups. */
export const REPORTED_OF_ROLLUP = `${USAGE_SUMS.join(", ")}, 0 as blocked_requests`;

/**
 * The select list of the sums of reports over the requests that budgets refused: only how many these are, since all other sums of the
 * rollups include them. They are found by an index of their own.
 */
export const REPORTED_OF_REFUSED = `${USAGE_SUMS.map((sum) => `0 as ${sum}`).join(", ")}, 1 as blocked_requests`;

/** SQL for the beginning of the hour or day (UTC) of an instant, in a tenth of the time that `date_trunc()` takes with a zone. */
export const beginningOf = (unit: "hour" | "day", time: string): string =>
  `date_bin(interval '1 ${unit}', ${time}, timestamptz '0001-01-01 00:00:00+00')`;

/** SQL for the time and the dimensions of a row of `requests` in a rollup. `texts` are further columns; an unknown text is empty. */
export const rollupKeyOf = (
  texts: readonly string[] = [],
  hour: string = beginningOf("hour", "requested_at"),
): string => `${hour} as hour,
    coalesce(machine_id, '${NO_MACHINE}') as machine_id,
    user_id,
    coalesce(project, '') as project,
    provider,
    model${texts
      .map(
        (column) => `,
    coalesce(${column}, '') as ${column}`,
      )
      .join("")}`;

/**
 * Returns a select of what the rows of a common table expression add to the rollups or, with the sign -1, subtract from
 * them. `texts` are further columns, which the rollups do not have; an unknown text is empty.
 */
export function contributions(source: string, sign: 1 | -1, texts: readonly string[] = []): string {
  return `select
    ${rollupKeyOf(texts)},
    ${sign} as requests,
    ${sign} * (${FAILED} is true)::integer as failed_requests,
    ${sign} * ${UNPRICED}::integer as unpriced_requests,
    ${sign} * (tokens_complete is false)::integer as incomplete_requests,
    ${ROLLUP_SUMS.slice(4)
      .map((sum) => `${sign} * coalesce(${COST_PARTS[sum] ?? sum}, 0)::numeric as ${sum}`)
      .join(",\n    ")}
  from ${source}`;
}

/**
 * Returns a select of the same sums of requests as `contributions()`, with fewer rows: one for each key and billing mode. It takes a third of
 * the time for each request, since it computes the key and the parts of the cost once for each row. `isOneHour` says that all requests are of
 * one hour, so they need not be grouped by it.
 */
export function summedContributions(
  source: string,
  sign: 1 | -1,
  texts: readonly string[] = [],
  isOneHour = false,
): string {
  const key = ["machine_id", "user_id", "project", "provider", "model", "billing_mode", ...texts].join(", ");
  const [time, groups] = isOneHour
    ? ["min(requested_at)", key]
    : [beginningOf("hour", "requested_at"), `1, ${key}`];
  const summed = [...TOKEN_SUMS, "cost_pico_usd", "reported_cost_pico_usd"];
  return `select
    ${rollupKeyOf(texts, isOneHour ? beginningOf("hour", "time") : "time")},
    ${sign} * requests as requests,
    ${sign} * failed_requests as failed_requests,
    ${sign} * unpriced_requests as unpriced_requests,
    ${sign} * incomplete_requests as incomplete_requests,
    ${ROLLUP_SUMS.slice(4)
      .map((sum) => `${sign} * coalesce(${COST_PARTS[sum] ?? sum}, 0) as ${sum}`)
      .join(",\n    ")}
  from (
    select ${time} as time, ${key},
      count(*) as requests,
      count(*) filter (where ${FAILED}) as failed_requests,
      count(*) filter (where ${UNPRICED}) as unpriced_requests,
      count(*) filter (where tokens_complete is false) as incomplete_requests,
      ${summed.map((sum) => `sum(${sum}) as ${sum}`).join(", ")}
    from ${source} group by ${groups}
  ) as summed`;
}
