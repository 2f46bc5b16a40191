import { DAY_MS, type Millis } from "../../core/values/time.ts";
import { parseCalendarDate, parseInstant } from "../../core/wire/instant.ts";
import { dayOf } from "../store/days.ts";
import type { DayZone } from "../store/port/values.ts";

/** The longest period of one query, in days. The daemon sums it while it meters. */
const MAX_PERIOD_DAYS = 400;

/** The default period in days, including today. */
const DEFAULT_PERIOD_DAYS = 30;

/** The parsed period, or the problem with the query. */
export type PeriodResult =
  | { readonly ok: true; readonly from: Millis; readonly to: Millis; readonly days: DayZone }
  | { readonly ok: false; readonly code: string; readonly detail: string };

const invalid = (code: string, detail: string): PeriodResult => ({ ok: false, code, detail });

/** Parses one end of the period. A date means the start of that day. */
function parseBound(text: string, days: DayZone): Millis | null {
  const midnight = parseCalendarDate(text);
  if (midnight === null) return parseInstant(text);
  if (days === "utc") return midnight;
  const [year = 0, month = 1, day = 1] = text.split("-").map(Number);
  return new Date(year, month - 1, day).getTime();
}

/**
 * Parses `from`, `to` and `days` (`local`, the default, or `utc`). The period is half-open, `[from, to)`. The default for
 * `to` is now; for `from`, the last 30 days.
 */
export function readPeriod(
  query: { from?: string | undefined; to?: string | undefined; days?: string | undefined },
  now: Millis,
): PeriodResult {
  const days = query.days ?? "local";
  if (days !== "local" && days !== "utc") return invalid("invalid_query", "days must be local or utc");
  // Includes the current millisecond.
  const to = query.to === undefined ? now + 1 : parseBound(query.to, days);
  if (to === null) return invalid("period_malformed", "to must be an ISO 8601 date or date-time");
  const from =
    query.from === undefined
      ? dayOf(Math.max(to - (DEFAULT_PERIOD_DAYS - 1) * DAY_MS - 1, 0), days).from
      : parseBound(query.from, days);
  if (from === null) return invalid("period_malformed", "from must be an ISO 8601 date or date-time");
  if (from >= to) return invalid("period_reversed", "from must be before to");
  if (to - from > MAX_PERIOD_DAYS * DAY_MS)
    return invalid("period_too_long", `a period can be at most ${MAX_PERIOD_DAYS} days long`);
  return { ok: true, from, to, days };
}
