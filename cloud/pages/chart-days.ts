import { mapParts } from "../../core/pricing/cost-split.ts";
import type { Overview } from "../../core/wire/reports.ts";
import { RETENTION_DAYS_MAX } from "../../core/wire/settings.ts";
import type { ChartDay } from "../../pages/cost-chart.ts";
import { type CostedSum, formatCost, formatDate, toSplit } from "./format.ts";

const DAY_MS = 86_400_000;

/** Most days in a chart: the longest retention, plus today. */
const MAX_DAYS = RETENTION_DAYS_MAX + 1;

/** The sums of a day without requests. */
const NO_USAGE: CostedSum = {
  requests: 0,
  unpriced_requests: 0,
  cost_pico_usd: "0",
  spent_pico_usd: "0",
  plan_usage_pico_usd: "0",
  unknown_billing_pico_usd: "0",
  prompt_tokens: 0,
  completion_tokens: 0,
  cache_read_tokens: 0,
  cache_write_tokens: 0,
  thinking_tokens: 0,
};

/**
 * Lists every UTC day of an overview's period, including days without requests. The client chooses the end of the period,
 * so the list is capped: a page with every day to the year 9999 would exhaust the server's memory.
 */
export function listDays({ from, to, days }: Pick<Overview, "from" | "to" | "days">): readonly ChartDay[] {
  const byDate = new Map(days.map((day) => [formatDate(day.start), day]));
  const first = Date.parse(formatDate(from));
  // The period is half-open: one that ends at midnight does not include the day that begins there.
  const daysInPeriod = Math.ceil((Date.parse(to) - first) / DAY_MS);
  const count = Math.min(Math.max(1, daysInPeriod), MAX_DAYS);
  return Array.from({ length: count }, (_, index) => {
    const date = formatDate(first + index * DAY_MS);
    const day = byDate.get(date) ?? NO_USAGE;
    const texts = mapParts(({ part }) => formatCost(day, part));
    return { date, requests: day.requests, split: toSplit(day), texts };
  });
}
