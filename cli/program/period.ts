import { UsageError } from "clipanion";
import { type CalendarDate, DAY_MS, HOUR_MS, MINUTE_MS, type Millis } from "../../core/values/time.ts";
import { parseCalendarDate } from "../../core/wire/instant.ts";

/** The period of a report: half-open; `null` means unbounded. */
export interface ReportPeriod {
  from: Millis | null;
  to: Millis | null;
}

/** The values of `--since`, `--from` and `--to`. */
export interface PeriodOptions {
  since: string | undefined;
  from: string | undefined;
  to: string | undefined;
}

const unitMs = { m: MINUTE_MS, h: HOUR_MS, d: DAY_MS, w: 7 * DAY_MS } as const;

/** Returns the start of a calendar day, local or UTC, moved by `offset` days; null if it is not a date. */
function startOfDay(date: string, utc: boolean, offset: number): Millis | null {
  const [, year, month, day] = /^(\d{4})-(\d{2})-(\d{2})$/.exec(date)?.map(Number) ?? [];
  if (year === undefined || month === undefined || day === undefined) return null;
  const check = new Date(Date.UTC(year, month - 1, day));
  if (check.getUTCMonth() !== month - 1 || check.getUTCDate() !== day) return null;
  return utc ? Date.UTC(year, month - 1, day + offset) : new Date(year, month - 1, day + offset).getTime();
}

/** Reads a date and time. Without an offset it is local time, or UTC. NaN if there is no such time. */
function parseDateTime(text: string, utc: boolean): Millis {
  const [, date = "", offset] = /^(.{10})T.*?(Z|[+-]\d{2}:?\d{2})?$/.exec(text) ?? [];
  if (startOfDay(date, true, 0) === null) return Number.NaN;
  return Date.parse(utc && offset === undefined ? `${text}Z` : text);
}

function parseTime(text: string, utc: boolean, endOfDay: boolean, also = ""): Millis {
  const day = startOfDay(text, utc, endOfDay ? 1 : 0);
  if (day !== null) return day;
  const time = parseDateTime(text, utc);
  if (Number.isNaN(time))
    throw new UsageError(`Invalid date: ${text}. Expected: 2026-11-21 or 2026-11-21T15:00:00Z${also}.`);
  return time;
}

/**
 * Reads `--since`, `--from` and `--to`. `--since` takes a duration back from now (`90m`, `24h`, `7d`, `4w`), `today`,
 * `yesterday`, or any value of `--from`. A day given as `--to` is included.
 */
export function readPeriod({ since, from, to }: PeriodOptions, now: Millis, utc: boolean): ReportPeriod {
  if (since !== undefined && from !== undefined)
    throw new UsageError("--since and --from can't be combined.");
  const end = to === undefined ? null : parseTime(to, utc, true);
  const begin = from ?? since;
  let start: Millis | null = null;
  if (begin !== undefined) {
    const [, count, unit] = /^(\d{1,5})([mhdw])$/.exec(begin) ?? [];
    const local = new Date(now);
    const today = utc
      ? Math.floor(now / unitMs.d) * unitMs.d
      : new Date(local.getFullYear(), local.getMonth(), local.getDate()).getTime();
    if (since !== undefined && count !== undefined)
      start = now - Number(count) * unitMs[unit as keyof typeof unitMs];
    else if (begin === "today") start = today;
    else if (begin === "yesterday") {
      start = utc
        ? today - unitMs.d
        : new Date(local.getFullYear(), local.getMonth(), local.getDate() - 1).getTime();
    } else {
      start = parseTime(begin, utc, false, since === undefined ? "" : ", or a duration such as 24h or 7d");
    }
  }
  if (start !== null && end !== null && end <= start)
    throw new UsageError("The period ends before it begins.");
  return { from: start, to: end };
}

/** Reads the value of an option that takes a date; null if the option is not given. */
export function readDateOption(option: string, text: string | undefined): CalendarDate | null {
  if (text === undefined) return null;
  if (parseCalendarDate(text) === null)
    throw new UsageError(`Invalid value for ${option}: ${text}. Expected: a date such as 2026-11-21.`);
  return text;
}
