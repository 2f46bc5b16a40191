import type { Millis } from "../../core/time.ts";
import { parseCalendarDate, parseInstant } from "../../core/wire/mod.ts";
import { type DayZone, dayOf } from "../store/mod.ts";

/** The longest period that one question may be about, in days: it is summed while the daemon meters. */
export const MAX_PERIOD_DAYS = 400;

/** The period of a question that names none, in days, today included. */
export const DEFAULT_PERIOD_DAYS = 30;

const DAY_MS = 86_400_000;

/** What the query says, or why it can't be answered. */
export type PeriodReading =
  | { readonly ok: true; readonly from: Millis; readonly to: Millis; readonly days: DayZone }
  | { readonly ok: false; readonly code: string; readonly detail: string };

const no = (code: string, detail: string): PeriodReading => ({ ok: false, code, detail });

/** A date is the beginning of that day in the given calendar. */
function readEdge(text: string, days: DayZone): Millis | null {
  const midnight = parseCalendarDate(text);
  if (midnight === null) return parseInstant(text);
  if (days === "utc") return midnight;
  const [year = 0, month = 1, day = 1] = text.split("-").map(Number);
  return new Date(year, month - 1, day).getTime();
}

/**
 * Reads `from`, `to` and `days` (`local`, the default, or `utc`). Half-open, `[from, to)`; without `to` it ends now, without
 * `from` it is the last 30 days.
 */
export function readPeriod(
  query: { from?: string | undefined; to?: string | undefined; days?: string | undefined },
  now: Millis,
): PeriodReading {
  const days = query.days ?? "local";
  if (days !== "local" && days !== "utc") return no("invalid_query", "days must be local or utc");
  // The instant of now belongs to it.
  const to = query.to === undefined ? now + 1 : readEdge(query.to, days);
  if (to === null) return no("period_malformed", "to must be a date or an instant of ISO 8601");
  const from =
    query.from === undefined
      ? dayOf(Math.max(to - (DEFAULT_PERIOD_DAYS - 1) * DAY_MS - 1, 0), days).from
      : readEdge(query.from, days);
  if (from === null) return no("period_malformed", "from must be a date or an instant of ISO 8601");
  if (from >= to) return no("period_reversed", "from must be before to");
  if (to - from > MAX_PERIOD_DAYS * DAY_MS)
    return no("period_too_long", `a period may have ${MAX_PERIOD_DAYS} days at most`);
  return { ok: true, from, to, days };
}
