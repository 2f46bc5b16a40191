import { sql, type Transaction } from "kysely";
import type { PriceBook } from "../../../core/pricing/price-book.ts";
import { REPEATS_SEARCHED, type RepeatSearch } from "../../../core/pricing/savings/answer-savings.ts";
import {
  findSavings,
  type ModelUsage,
  type RepeatedPrompts,
  type Saving,
} from "../../../core/pricing/savings/find-savings.ts";
import type { UsagePlan } from "../../../core/pricing/view/usage-plan.ts";
import type { UsageQuery } from "../../../core/pricing/view/usage-query.ts";
import { EFFECTIVE_BILLING_SQL } from "../../../core/values/billing.ts";
import type { Millis } from "../../../core/values/time.ts";
import { formatInstant } from "../../../core/wire/instant.ts";
import type { CloudDatabase } from "../open-database.ts";
import { FAILED } from "../rollups.ts";
import type { CloudSchema } from "../schema.ts";
import { inReadScope } from "./read-scope.ts";
import { readUsage, type UsageGroup } from "./usage.ts";
import { matchRequests } from "./usage-sources.ts";
import type { Span } from "./usage-spans.ts";

/** Most projects and models that are examined, the costliest first: low costs leave little to save. */
const MAX_VALUES = 50;

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
    const { repeated } = await readRepeats(trx, workspaceId, { from, to }, [], REPEATS_SEARCHED);
    return findSavings(usage, repeated);
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

/** Searches the newest requests of a plan's period and filters for repeated prompts, at most `limit`. */
export async function findRepeats(
  db: CloudDatabase,
  workspaceId: string,
  { period, query }: UsagePlan,
  limit: number,
): Promise<RepeatSearch> {
  return await inReadScope(db, { workspaceId }, (trx) =>
    readRepeats(trx, workspaceId, period, query.filters, limit),
  );
}

/** Counts, by provider, model and project, the newest requests whose prompt an earlier one of them had already sent. */
async function readRepeats(
  trx: Transaction<CloudSchema>,
  workspaceId: string,
  { from, to }: Span,
  filters: UsageQuery["filters"],
  limit: number,
): Promise<RepeatSearch> {
  const { rows } = await sql<{
    provider: string | null;
    model: string | null;
    project: string | null;
    is_total: number;
    requests: string;
    since: Millis | null;
    spent: string;
    unknown: string;
  }>`
    with recent as (
      select request_id, requested_at, provider, model, project, prompt_hash, cost_pico_usd, error_class, http_status,
        billing_mode
      from requests
      where workspace_id = ${workspaceId}::uuid
        and requested_at >= ${formatInstant(from)}::timestamptz and requested_at < ${formatInstant(to)}::timestamptz
        ${matchRequests(filters)}
      order by requested_at desc, request_id desc
      limit ${limit}::bigint
    ),
    occurrences as (
      select provider, model, project, cost_pico_usd, ${sql.raw(EFFECTIVE_BILLING_SQL)} as billing, row_number() over (
        partition by provider, model, project, prompt_hash order by requested_at, request_id
      ) as occurrence
      from recent
      where prompt_hash is not null and ${sql.raw(EFFECTIVE_BILLING_SQL)} <> 'plan' and ${sql.raw(FAILED)} is not true
    )
    select 0 as is_total, provider, model, project, count(*) as requests, null::timestamptz as since,
      coalesce(sum(cost_pico_usd) filter (where billing <> 'unknown'), 0) as spent,
      coalesce(sum(cost_pico_usd) filter (where billing = 'unknown'), 0) as unknown
    from occurrences where occurrence > 1
    group by provider, model, project
    union all select 1, null, null, null, count(*), min(requested_at), 0, 0 from recent`.execute(trx);
  const total = rows.find(({ is_total }) => is_total === 1);
  const searched = Number(total?.requests ?? 0);
  return {
    repeated: rows
      .filter(({ is_total }) => is_total === 0)
      .map(
        ({ provider, model, project, requests, spent, unknown }): RepeatedPrompts => ({
          provider: provider ?? "",
          model: model ?? "",
          project,
          requests: Number(requests),
          costPicoUsd: BigInt(spent),
          unknownBillingPicoUsd: BigInt(unknown),
        }),
      ),
    searched,
    since: searched < limit ? null : (total?.since ?? null),
  };
}
