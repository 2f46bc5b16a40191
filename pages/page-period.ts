import { planUsage } from "../core/pricing/view/usage-plan.ts";
import { DEFAULT_USAGE_QUERY, type UsageQuery } from "../core/pricing/view/usage-query.ts";
import type { Millis } from "../core/values/time.ts";
import { findZone } from "../core/values/zone.ts";
import type { UsagePeriodName } from "../core/wire/usage.ts";
import type { PageClock } from "./times.ts";
import type { View } from "./view.ts";

/** A period of a page. */
export interface PagePeriod {
  readonly from: Millis;
  readonly to: Millis;
  /** Such as `Last 30 days: 2026-10-25 to 2026-11-23 (Europe/Berlin)`. */
  readonly words: string;
  /** Whether the period began before the floor, so that its beginning was cut. */
  readonly isCut: boolean;
}

/**
 * Returns the period of a view in the page's zone: `from` and `to` if they are valid, otherwise the named one. `floor` is the
 * earliest time that may be read.
 */
export function readPagePeriod(
  { values }: Pick<View, "values">,
  clock: PageClock,
  floor?: Millis,
): PagePeriod {
  const name = (values.period || DEFAULT_USAGE_QUERY.period) as UsagePeriodName;
  const bounds = values.from ? { from: values.from, to: values.to || null } : name;
  return (
    plan(bounds, clock, floor) ??
    plan(name, clock, floor) ?? { from: floor ?? 0, to: clock.now + 1, words: "", isCut: false }
  );
}

function plan(
  period: UsageQuery["period"],
  { now, zone: name }: PageClock,
  floor?: Millis,
): PagePeriod | null {
  const zone = findZone(name) ?? findZone("UTC");
  if (zone === null) return null;
  const planned = planUsage(
    { ...DEFAULT_USAGE_QUERY, period, compare: "none", bucket: "none" },
    { now, zone, ...(floor !== undefined && { floor }) },
  );
  if (!planned.ok) return null;
  const { from, to, label } = planned.plan.period;
  return {
    from,
    to,
    words: `${label} (${zone.name})`,
    isCut: planned.plan.clampedFrom !== null,
  };
}
