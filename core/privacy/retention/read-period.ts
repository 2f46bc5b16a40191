import type { CalendarDate } from "../../values/time.ts";
import { nextMidnight, parseCalendarDate, parseInstant } from "../../wire/instant.ts";
import {
  clampWindow,
  defaultFrom,
  type ReachFacts,
  type ReadEndpoint,
  type UtcPeriod,
  type WindowVerdict,
} from "./windows.ts";

/** The bounds of a period in a query: a date (midnight, UTC), a datetime, or nothing. */
export interface PeriodTexts {
  readonly from: string | null;
  readonly to: string | null;
}

/** The period of a query, or why it is refused. */
export type PeriodVerdict =
  | WindowVerdict
  | { readonly ok: false; readonly reason: "period_malformed"; readonly field: "from" | "to" };

/** Parses a query's period and applies the retention floor. Without `to` it ends now. */
export function readPeriod(endpoint: ReadEndpoint, texts: PeriodTexts, facts: ReachFacts): PeriodVerdict {
  const to = texts.to === null ? facts.now : parseEdge(texts.to);
  if (to === null) return { ok: false, reason: "period_malformed", field: "to" };
  const from = texts.from === null ? defaultFrom(endpoint, to, facts) : parseEdge(texts.from);
  if (from === null) return { ok: false, reason: "period_malformed", field: "from" };
  return clampWindow(endpoint, { from, to }, facts);
}

function parseEdge(text: string): number | null {
  return parseCalendarDate(text) ?? parseInstant(text);
}

/** A window of whole days, both dates included, with the same window as a half-open period. Every refusal is a 422. */
type DateWindowVerdict =
  | ({ readonly ok: true; readonly fromDate: CalendarDate; readonly toDate: CalendarDate } & UtcPeriod)
  | {
      readonly ok: false;
      readonly reason: "datetime_not_date" | "date_malformed";
      readonly field: "from_date" | "to_date";
    }
  | { readonly ok: false; readonly reason: "period_reversed" };

/** Parses the window of daemon totals: calendar dates only. Source: docs/specification.md#reading and "Errors". */
export function readDateWindow(fromDate: string, toDate: string): DateWindowVerdict {
  const from = parseCalendarDate(fromDate);
  if (from === null) return { ok: false, reason: describeDateFault(fromDate), field: "from_date" };
  const last = parseCalendarDate(toDate);
  if (last === null) return { ok: false, reason: describeDateFault(toDate), field: "to_date" };
  if (from > last) return { ok: false, reason: "period_reversed" };
  return { ok: true, fromDate, toDate, from, to: nextMidnight(last) };
}

function describeDateFault(text: string): "datetime_not_date" | "date_malformed" {
  return parseInstant(text) === null ? "date_malformed" : "datetime_not_date";
}
