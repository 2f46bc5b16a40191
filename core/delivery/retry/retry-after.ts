import type { Millis } from "../../values/time.ts";

/** Longest `Retry-After` that is honoured, milliseconds. Source: docs/specification.md#metadata-sync: up to 3,600 s. */
export const RETRY_AFTER_CAP_MS = 3_600_000;

const MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const DAY = "(?:mon|tue|wed|thu|fri|sat|sun)";
const LONG_DAY = "(?:monday|tuesday|wednesday|thursday|friday|saturday|sunday)";
const TIME = "(\\d\\d):(\\d\\d):(\\d\\d)";

/** One value: seconds, or one of the three date forms of RFC 9110 section 5.6.7. */
const VALUE = new RegExp(
  [
    "(\\d+)",
    `${DAY}, (\\d\\d) ([a-z]{3}) (\\d{4}) ${TIME} gmt`,
    `${LONG_DAY}, (\\d\\d)-([a-z]{3})-(\\d\\d) ${TIME} gmt`,
    `${DAY} ([a-z]{3}) ([ \\d]\\d) ${TIME} (\\d{4})`,
  ].join("|"),
  "iy",
);

/**
 * Parses a `Retry-After` header (RFC 9110 section 10.2.3) into the milliseconds to wait from `now`, capped at 3,600 s. A date
 * in the past gives 0. Returns `null` if the header is absent or of neither form, as negative and fractional numbers are;
 * then only the backoff applies. A repeated header arrives joined by a comma; the longer wait counts.
 */
export function parseRetryAfter(header: string | null, now: Millis): number | null {
  if (header === null) return null;
  const text = header.trim();
  let longest: number | null = null;
  let at = 0;
  while (true) {
    VALUE.lastIndex = at;
    const match = VALUE.exec(text);
    const delayMs = match === null ? null : readValue(match, now);
    if (match === null || delayMs === null) return null;
    longest = Math.max(longest ?? 0, Math.min(Math.max(delayMs, 0), RETRY_AFTER_CAP_MS));
    at += match[0].length;
    if (at === text.length) return longest;
    const comma = /[ \t]*,[ \t]*/y;
    comma.lastIndex = at;
    if (!comma.test(text)) return null;
    at = comma.lastIndex;
  }
}

function readValue(match: RegExpExecArray, now: Millis): number | null {
  const [
    ,
    seconds,
    day1,
    month1,
    year1,
    h1,
    m1,
    s1,
    day2,
    month2,
    year2,
    h2,
    m2,
    s2,
    month3,
    day3,
    h3,
    m3,
    s3,
    year3,
  ] = match;
  if (seconds !== undefined) return Number(seconds) * 1000;
  if (month1 !== undefined) return untilDate([year1, month1, day1, h1, m1, s1], now);
  if (month2 !== undefined) {
    const year = fullYear(Number(year2), now);
    return untilDate([String(year), month2, day2, h2, m2, s2], now);
  }
  return untilDate([year3, month3, day3, h3, m3, s3], now);
}

/** RFC 9110 section 5.6.7: the last year with those digits that is not more than 50 years ahead. */
function fullYear(twoDigits: number, now: Millis): number {
  const latest = new Date(now).getUTCFullYear() + 50;
  return latest - ((latest - twoDigits) % 100);
}

function untilDate(parts: readonly (string | undefined)[], now: Millis): number | null {
  const month = MONTHS.indexOf(String(parts[1]).toLowerCase());
  const [year, , day, hour, minute, second] = parts.map(Number) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  // A leap second (60) is allowed by the RFC, and rolls over into the next minute.
  if (month < 0 || day < 1 || hour > 23 || minute > 59 || second > 60) return null;
  const midnight = new Date(0);
  midnight.setUTCFullYear(year, month, day);
  if (midnight.getUTCMonth() !== month) return null;
  return midnight.getTime() + ((hour * 60 + minute) * 60 + second) * 1000 - now;
}
