import { html } from "hono/html";
import type { Millis } from "../core/values/time.ts";
import type { Html } from "./html.ts";

/** The time zone and the current time of a page. */
export interface PageClock {
  /** An IANA name, such as `Europe/Berlin`. */
  readonly zone: string;
  readonly now: Millis;
}

/** Formats are costly to make, so each is made once. */
const formats = new Map<string, Intl.DateTimeFormat>();

function format(at: Millis, zone: string, options: Intl.DateTimeFormatOptions): string {
  const key = `${zone} ${JSON.stringify(options)}`;
  const known =
    formats.get(key) ?? new Intl.DateTimeFormat("en-CA", { timeZone: zone, hourCycle: "h23", ...options });
  formats.set(key, known);
  return known.format(at).replace(", ", " ");
}

const DATE = { year: "numeric", month: "2-digit", day: "2-digit" } as const;
const MONTH = { month: "long", year: "numeric" } as const;
const CLOCK = { hour: "2-digit", minute: "2-digit", second: "2-digit" } as const;

/** Returns the date in the zone, `YYYY-MM-DD`. */
export const formatDate = (at: Millis, zone: string): string => format(at, zone, DATE);

/** Returns the name of the month of a date, such as `November 2026`. */
export const nameMonth = (date: string): string => format(Date.parse(date), "UTC", MONTH);

/** Formats the time of day, `14:02`, with seconds if asked. */
export const formatTimeOfDay = (at: Millis, zone: string, withSeconds = false): string =>
  format(at, zone, withSeconds ? CLOCK : { hour: "2-digit", minute: "2-digit" });

/** Formats a time with its date, `2026-11-15 14:02:11`. */
export const formatDateTime = (at: Millis, zone: string): string =>
  `${formatDate(at, zone)} ${formatTimeOfDay(at, zone, true)}`;

/** Renders a time. The date is left out for today, unless `withDate` is set. */
export function renderTime(at: Millis, { zone, now }: PageClock, withDate = false): Html {
  const isToday = formatDate(at, zone) === formatDate(now, zone);
  const date = isToday && !withDate ? "" : html`<span>${formatDate(at, zone)}</span> `;
  return html`<time datetime="${new Date(at).toISOString()}">${date}<span>${formatTimeOfDay(at, zone, true)}</span></time>`;
}
