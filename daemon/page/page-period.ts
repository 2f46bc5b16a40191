import type { Millis } from "../../core/values/time.ts";
import { formatDate } from "../../pages/times.ts";
import type { View } from "../../pages/view.ts";
import { readPeriod } from "../api/read-period.ts";
import { dayOf } from "../store/days.ts";

/** A period of a page. */
export interface PagePeriod {
  readonly from: Millis;
  readonly to: Millis;
  /** Such as `2026-10-25 to 2026-11-23 (Europe/Berlin)`. */
  readonly words: string;
}

const DAYS: Readonly<Record<string, number>> = { today: 1, "7d": 7, "30d": 30, "90d": 90, "12m": 365 };

const DAY_MS = 86_400_000;

/** The time zone of this machine. */
export const localZone = (): string => Intl.DateTimeFormat().resolvedOptions().timeZone;

/** Returns the period of a view in this machine's zone: `from` and `to` if they are valid, otherwise the named one. */
export function readPagePeriod({ values }: View, now: Millis): PagePeriod {
  const bounds = { from: values.from || undefined, to: values.to || undefined };
  if (bounds.from !== undefined || bounds.to !== undefined) {
    const period = readPeriod(bounds, now);
    if (period.ok) return withWords(period.from, period.to);
  }
  // The period includes the current millisecond. Noon is on the intended day even if the clocks changed in between.
  const days = DAYS[values.period ?? ""] ?? 30;
  const noon = dayOf(now, "local").from + DAY_MS / 2;
  return withWords(dayOf(noon - (days - 1) * DAY_MS, "local").from, now + 1);
}

function withWords(from: Millis, to: Millis): PagePeriod {
  const zone = localZone();
  const [first, last] = [formatDate(from, zone), formatDate(to - 1, zone)];
  return { from, to, words: `${first === last ? first : `${first} to ${last}`} (${zone})` };
}
