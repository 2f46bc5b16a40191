import { type CostSplit, NO_COST, splitJson } from "../../../core/pricing/cost-split.ts";
import { DEFAULT_USAGE_QUERY, type UsageQuery } from "../../../core/pricing/view/usage-query.ts";
import { HOUR_MS, MINUTE_MS } from "../../../core/values/time.ts";
import { formatInstant } from "../../../core/wire/instant.ts";
import type { WorkspaceNow } from "../../../core/wire/now.ts";
import { etagOf, matchesEtag } from "../../http/etag.ts";
import type { CloudParts } from "../../ports.ts";
import { type MinuteSums, sumMinutes } from "../../store/reads/now.ts";
import type { WorkspaceAccess } from "../../store/workspaces.ts";
import type { ApiHandlers } from "../api-call.ts";
import { readUsageAnswer } from "./read-usage.ts";
import { readUsageFilters } from "./usage.ts";

const MINUTES = 60;

/** The route of today's and the last hour's sums. Answers 304 if the client has the current answer (RFC 9110, section 13.1.2). */
export const nowHandlers = {
  "GET /v1/workspaces/:ws/now": async ({ parts, workspace, context }) => {
    const filters = readUsageFilters(context);
    if (!filters.ok) return filters.refusal;
    const text = JSON.stringify(await readWorkspaceNow(parts, workspace, filters.value));
    const headers = { etag: etagOf(text, parts.sha256), "cache-control": "private, no-cache" };
    if (matchesEtag(context.req.header("if-none-match"), headers.etag))
      return context.body(null, 304, headers);
    return context.body(text, 200, { ...headers, "content-type": "application/json" });
  },
} satisfies Partial<ApiHandlers>;

/** Reads the sums of today, in the workspace's zone, and of the last hour. */
export async function readWorkspaceNow(
  parts: CloudParts,
  workspace: WorkspaceAccess,
  filters: UsageQuery["filters"],
): Promise<WorkspaceNow> {
  const now = parts.clock.now();
  const query = {
    ...DEFAULT_USAGE_QUERY,
    period: "today",
    compare: "none",
    bucket: "none",
    filters,
  } as const;
  const [today, recent] = await Promise.all([
    readUsageAnswer(parts, workspace, { ...query, tz: workspace.reportingZone }),
    sumMinutes(parts.db, workspace.workspaceId, { from: now - HOUR_MS, to: now + 1 }, filters),
  ]);
  if (!today.ok) throw new TypeError(`today has no usage: ${today.detail}`);
  const { totals, coverage } = today.value;
  if (coverage === null) throw new TypeError("today has no coverage");
  const { metered, seen, permille, unknown_machines } = coverage;
  const { requests, spent_pico_usd, plan_usage_pico_usd, unknown_billing_pico_usd } = totals;
  const first = Math.floor(now / MINUTE_MS) - (MINUTES - 1);
  const byMinute = new Map(recent.map((each) => [each.at, each]));
  return {
    tz: workspace.reportingZone,
    today: { requests, spent_pico_usd, plan_usage_pico_usd, unknown_billing_pico_usd },
    last_hour: sumOf(recent),
    minutes: Array.from({ length: MINUTES }, (_, n) => {
      const at = (first + n) * MINUTE_MS;
      const own = byMinute.get(at);
      return { at: formatInstant(at), ...sumOf(own === undefined ? [] : [own]) };
    }),
    coverage: { metered, seen, permille, unknown_machines },
  };
}

function sumOf(minutes: readonly MinuteSums[]) {
  const sum = (part: keyof CostSplit) => minutes.reduce((all, each) => all + each[part], NO_COST[part]);
  const requests = minutes.reduce((all, each) => all + each.requests, 0);
  return {
    requests,
    ...splitJson({
      spentPicoUsd: sum("spentPicoUsd"),
      planUsagePicoUsd: sum("planUsagePicoUsd"),
      unknownBillingPicoUsd: sum("unknownBillingPicoUsd"),
    }),
  };
}
