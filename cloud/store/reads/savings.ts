import { sql, type Transaction } from "kysely";
import type { PriceBook } from "../../../core/pricing/price-book.ts";
import {
  findSavings,
  type ModelUsage,
  type RepeatedPrompts,
  type Saving,
} from "../../../core/pricing/savings/find-savings.ts";
import { EFFECTIVE_BILLING_SQL } from "../../../core/values/billing.ts";
import type { Millis } from "../../../core/values/time.ts";
import type { CloudDatabase } from "../open-database.ts";
import { FAILED } from "../rollups.ts";
import type { CloudSchema } from "../schema.ts";
import { inReadScope } from "./read-scope.ts";
import { readUsage, type UsageGroup } from "./usage.ts";
import type { Span } from "./usage-spans.ts";

/** Most projects and models that are examined, the costliest first: low costs leave little to save. */
const MAX_VALUES = 50;

/**
 * How many of a period's requests are searched for repeated prompts, the newest. Decision: rollups do not tell prompts
 * apart, and a search of all would cost more the more there are.
 */
export const REPEATS_SEARCHED = 20_000;

/** Finds where money could have been saved in a period. */
export async function readSavings(
  db: CloudDatabase,
  workspaceId: string,
  { from, to }: Span,
  book: PriceBook,
): Promise<Saving[]> {
  return await inReadScope(db, { workspaceId }, async (trx) => {
    const groups = await readUsage(trx, {
      from,
      to,
      workspaceId,
      bucket: "day",
      dimensionGroups: [[["provider", "model", "project"]]],
      maxValues: MAX_VALUES,
    });
    // A cheaper model saves nothing where a plan covers the calls.
    const billed = groups.filter(
      ({ totals: { cost_pico_usd, plan_usage_pico_usd } }) =>
        plan_usage_pico_usd === "0" || plan_usage_pico_usd !== cost_pico_usd,
    );
    const usage = billed.map((group) => toGroupUsage(group, book, to));
    return findSavings(usage, await readRepeatedPrompts(trx, workspaceId, { from, to }));
  });
}

function toGroupUsage(group: UsageGroup, book: PriceBook, at: Millis): ModelUsage {
  const { provider, model } = group as { provider: string; model: string };
  const { totals } = group;
  return {
    provider,
    model,
    project: group.project === "" ? null : group.project,
    requests: totals.requests,
    promptTokens: totals.prompt_tokens,
    completionTokens: totals.completion_tokens,
    cacheReadTokens: totals.cache_read_tokens,
    cacheWriteTokens: totals.cache_write_tokens,
    thinkingTokens: totals.thinking_tokens,
    costPicoUsd: BigInt(totals.spent_pico_usd),
    planUsagePicoUsd: BigInt(totals.plan_usage_pico_usd),
    unknownBillingPicoUsd: BigInt(totals.unknown_billing_pico_usd),
    rates: book.findPublished({ provider, model, requestedModel: null, at })?.rates ?? null,
  };
}

/** Counts, by provider, model and project, the newest requests whose prompt an earlier one of them had already sent. */
async function readRepeatedPrompts(
  trx: Transaction<CloudSchema>,
  workspaceId: string,
  { from, to }: Span,
): Promise<RepeatedPrompts[]> {
  const { rows } = await sql<{
    provider: string;
    model: string;
    project: string | null;
    requests: string;
    spent: string;
    unknown: string;
  }>`
    with recent as (
      select request_id, requested_at, provider, model, project, prompt_hash, cost_pico_usd, error_class, http_status,
        billing_mode
      from requests
      where workspace_id = ${workspaceId}::uuid
        and requested_at >= ${from}::timestamptz and requested_at < ${to}::timestamptz
      order by requested_at desc, request_id desc
      limit ${REPEATS_SEARCHED}::bigint
    ),
    occurrences as (
      select provider, model, project, cost_pico_usd, ${sql.raw(EFFECTIVE_BILLING_SQL)} as billing, row_number() over (
        partition by provider, model, project, prompt_hash order by requested_at, request_id
      ) as occurrence
      from recent
      where prompt_hash is not null and ${sql.raw(EFFECTIVE_BILLING_SQL)} <> 'plan' and ${sql.raw(FAILED)} is not true
    )
    select provider, model, project, count(*) as requests,
      coalesce(sum(cost_pico_usd) filter (where billing <> 'unknown'), 0) as spent,
      coalesce(sum(cost_pico_usd) filter (where billing = 'unknown'), 0) as unknown
    from occurrences where occurrence > 1
    group by provider, model, project`.execute(trx);
  return rows.map(
    ({ provider, model, project, requests, spent, unknown }): RepeatedPrompts => ({
      provider,
      model,
      project,
      requests: Number(requests),
      costPicoUsd: BigInt(spent),
      unknownBillingPicoUsd: BigInt(unknown),
    }),
  );
}
