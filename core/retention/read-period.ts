import type { CalendarDate } from "../time.ts";
import { nextMidnight, parseCalendarDate, parseInstant } from "../wire/instant.ts";
import {
  clampWindow,
  defaultFrom,
  type ReachFacts,
  type ReadEndpoint,
  type UtcPeriod,
  type WindowVerdict,
} from "./windows.ts";

/** The edges of a period as a query states them: a date (its midnight, UTC), a datetime, or nothing. */
export interface PeriodTexts {
  readonly from: string | null;
  readonly to: string | null;
}

/** The period of a query, or why it is not answered. */
export type PeriodVerdict =
  | WindowVerdict
  | { readonly ok: false; readonly reason: "period_malformed"; readonly field: "from" | "to" };

/** Reads a query's period and holds it against the floor. Without `to` it ends now. */
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

/** Whole days, both dates included, with the half-open period that they are; every refusal is a 422. */
export type DateWindowVerdict =
  | ({ readonly ok: true; readonly fromDate: CalendarDate; readonly toDate: CalendarDate } & UtcPeriod)
  | {
      readonly ok: false;
      readonly reason: "datetime_not_date" | "date_malformed";
      readonly field: "from_date" | "to_date";
    }
  | { readonly ok: false; readonly reason: "period_reversed" };

/** Reads the window of daemon totals: calendar dates and nothing else. Source: contract, "Endpoints" and "Errors". */
export function readDateWindow(fromDate: string, toDate: string): DateWindowVerdict {
  const from = parseCalendarDate(fromDate);
  if (from === null) return { ok: false, reason: refusalOf(fromDate), field: "from_date" };
  const last = parseCalendarDate(toDate);
  if (last === null) return { ok: false, reason: refusalOf(toDate), field: "to_date" };
  if (from > last) return { ok: false, reason: "period_reversed" };
  return { ok: true, fromDate, toDate, from, to: nextMidnight(last) };
}

function refusalOf(text: string): "datetime_not_date" | "date_malformed" {
  return parseInstant(text) === null ? "date_malformed" : "datetime_not_date";
}
