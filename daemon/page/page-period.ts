import { planUsage } from "../../core/pricing/view/usage-plan.ts";
import { DEFAULT_USAGE_QUERY, type UsageQuery } from "../../core/pricing/view/usage-query.ts";
import type { Millis } from "../../core/values/time.ts";
import { findZone } from "../../core/values/zone.ts";
import type { UsagePeriodName } from "../../core/wire/usage.ts";
import type { View } from "../../pages/view.ts";

/** A period of a page. */
export interface PagePeriod {
  readonly from: Millis;
  readonly to: Millis;
  /** Such as `last 30 days: 2026-10-25 to 2026-11-23 (Europe/Berlin)`. */
  readonly words: string;
}

/** The time zone of this machine. */
export const localZone = (): string => Intl.DateTimeFormat().resolvedOptions().timeZone;

/** Returns the period of a view in this machine's zone: `from` and `to` if they are valid, otherwise the named one. */
export function readPagePeriod({ values }: View, now: Millis): PagePeriod {
  const name = (values.period || DEFAULT_USAGE_QUERY.period) as UsagePeriodName;
  const bounds = values.from ? { from: values.from, to: values.to || null } : name;
  return plan(bounds, now) ?? plan(name, now) ?? { from: 0, to: now + 1, words: "" };
}

function plan(period: UsageQuery["period"], now: Millis): PagePeriod | null {
  const zone = findZone(localZone()) ?? findZone("UTC");
  if (zone === null) return null;
  const planned = planUsage(
    { ...DEFAULT_USAGE_QUERY, period, compare: "none", bucket: "none" },
    { now, zone },
  );
  if (!planned.ok) return null;
  const { from, to, label } = planned.plan.period;
  return { from, to, words: `${label} (${zone.name})` };
}
