import { splitJson } from "../../core/pricing/cost-split.ts";
import type { Millis } from "../../core/values/time.ts";
import type { StatisticsTotals } from "../../core/wire/loopback-data.ts";
import type { ModelRow, ReportRow, Statistics } from "../store/port/reports.ts";
import { moneyJson } from "./request-json.ts";

/** Converts a sum of counts to a JSON number, which is exact below 2^53. */
const count = (sum: bigint | null): number | null => (sum === null ? null : Number(sum));

/** Converts the totals of one row to their wire form. */
function totalsJson(row: ReportRow): StatisticsTotals {
  const { tokens } = row;
  return {
    requests: row.requests,
    failed_requests: row.errors,
    blocked_requests: row.blocked,
    unpriced_requests: row.unpriced,
    incomplete_requests: row.incomplete,
    prompt_tokens: count(tokens.prompt),
    completion_tokens: count(tokens.completion),
    cache_read_tokens: count(tokens.cacheRead),
    cache_write_tokens: count(tokens.cacheWrite),
    cache_write_1h_tokens: count(tokens.cacheWrite1h),
    thinking_tokens: count(tokens.thinking),
    cost_pico_usd: row.costPicoUsd.toString(),
    cost_usd: moneyJson(row.costPicoUsd).cost_usd ?? "0",
    ...splitJson(row.split),
  };
}

/** Converts statistics to their wire form, with the time of each project's last request. */
export function statisticsJson(
  { total, days, projects, models }: Statistics,
  lastRequests: ReadonlyMap<string, Millis>,
) {
  return {
    totals: totalsJson(total),
    days: days.map((row) => ({ date: row.key ?? "", ...totalsJson(row) })),
    projects: projects.map((row) => ({
      project: row.key ?? "",
      last_requested_at: new Date(lastRequests.get(row.key ?? "") ?? 0).toISOString(),
      ...totalsJson(row),
    })),
    models: models.map((row: ModelRow) => ({
      provider: row.provider,
      model: row.key ?? "",
      ...totalsJson(row),
    })),
  };
}
