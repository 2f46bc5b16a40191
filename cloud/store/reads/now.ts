import { sql } from "kysely";
import { billingModesSql } from "../../../core/pricing/cost-split.ts";
import type { UsageFilter } from "../../../core/pricing/view/usage-query.ts";
import { EFFECTIVE_BILLING_SQL } from "../../../core/values/billing.ts";
import { MINUTE_MS, type Millis } from "../../../core/values/time.ts";
import { formatInstant } from "../../../core/wire/instant.ts";
import type { CloudDatabase } from "../open-database.ts";
import { inReadScope } from "./read-scope.ts";
import { matchRequests } from "./usage-sources.ts";
import type { Span } from "./usage-spans.ts";

/** The requests that began in one minute, and their costs by who pays. */
export interface MinuteSums {
  /** The start of the minute. */
  readonly at: Millis;
  readonly requests: number;
  readonly spentPicoUsd: bigint;
  readonly planUsagePicoUsd: bigint;
  readonly unknownBillingPicoUsd: bigint;
}

/** Sums the requests of a short period by the minute in which they began, in order. Minutes without requests are left out. */
export async function sumMinutes(
  db: CloudDatabase,
  workspaceId: string,
  { from, to }: Span,
  filters: readonly UsageFilter[],
): Promise<readonly MinuteSums[]> {
  const { rows } = await inReadScope(db, { workspaceId }, (trx) =>
    sql<{ minute: string; requests: string; cost: string; spent: string; plan: string }>`
      select (floor(extract(epoch from requested_at) / 60))::bigint as minute, count(*) as requests,
        coalesce(sum(cost_pico_usd), 0)::text as cost,
        coalesce(sum(cost_pico_usd) filter (where ${sql.raw(EFFECTIVE_BILLING_SQL)} in (${sql.raw(billingModesSql("spentPicoUsd"))})), 0)::text as spent,
        coalesce(sum(cost_pico_usd) filter (where ${sql.raw(EFFECTIVE_BILLING_SQL)} = 'plan'), 0)::text as plan
      from requests where workspace_id = ${workspaceId}::uuid
        and requested_at >= ${formatInstant(from)}::timestamptz and requested_at < ${formatInstant(to)}::timestamptz
        ${matchRequests(filters)}
      group by 1 order by 1`.execute(trx),
  );
  return rows.map(({ minute, requests, cost, spent, plan }) => ({
    at: Number(minute) * MINUTE_MS,
    requests: Number(requests),
    spentPicoUsd: BigInt(spent),
    planUsagePicoUsd: BigInt(plan),
    unknownBillingPicoUsd: BigInt(cost) - BigInt(spent) - BigInt(plan),
  }));
}
