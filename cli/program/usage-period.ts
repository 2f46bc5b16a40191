import { DEFAULT_USAGE_QUERY, type UsageQuery } from "../../core/pricing/view/usage-query.ts";
import { DAY_MS, type Millis } from "../../core/values/time.ts";
import { formatInstant } from "../../core/wire/instant.ts";
import type { ReportPeriod } from "./period.ts";

/** The length of a period of usage whose begin is not given. */
const DEFAULT_MS = 30 * DAY_MS;

/** Returns a period as a query of usage states it; the default one if neither end is given. */
export function toUsagePeriod({ from, to }: ReportPeriod, now: Millis): UsageQuery["period"] {
  if (from === null && to === null) return DEFAULT_USAGE_QUERY.period;
  const start = from ?? Math.min(to ?? now, now) - DEFAULT_MS;
  return { from: formatInstant(start), to: to === null ? null : formatInstant(to) };
}
