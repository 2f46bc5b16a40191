import type { CallGroup, NewestCalls } from "../../core/metering/attribution/newest-calls.ts";
import type { SqliteConnection } from "../../core/ports/sqlite.ts";
import type { UsagePlan } from "../../core/pricing/view/usage-plan.ts";
import type { Millis } from "../../core/values/time.ts";
import { toCondition } from "./usage-dimensions.ts";
import { columnOfRequests, matches } from "./usage-sums.ts";

/**
 * Reads the newest `limit` calls of a plan's period by project, branch, session and how the project was found. Its filters apply to
 * these calls, so that a rare value does not make it read more of them.
 */
export function readNewestCalls(
  connection: SqliteConnection,
  { query, period }: Pick<UsagePlan, "query" | "period">,
  limit: number,
): NewestCalls {
  const [oldest] = connection
    .prepare<{ requested_at: Millis }>(
      `SELECT requested_at FROM requests WHERE requested_at >= ? AND requested_at < ?
       ORDER BY requested_at DESC LIMIT 1 OFFSET ?`,
    )
    .all([period.from, period.to, limit]);
  const where = matches({ filters: {}, where: query.filters.map(toCondition) }, columnOfRequests);
  const groups = connection
    .prepare<CallGroup>(
      `SELECT nullif(project, '') AS project, nullif(git_branch, '') AS branch, attribution_tier AS tier, session_id AS session,
         count(*) AS requests
       FROM requests WHERE requested_at >= ? AND requested_at < ?${where.sql}
       GROUP BY 1, 2, 3, 4`,
    )
    .all([oldest === undefined ? period.from : oldest.requested_at + 1, period.to, ...where.values]);
  return { groups, since: oldest?.requested_at ?? null };
}
