import { DAY_MS, HOUR_MS, type Millis } from "../../../core/values/time.ts";

/** A half-open span `[from, to)`. */
export interface Span {
  readonly from: Millis;
  readonly to: Millis;
}

/** The parts of a period: whole days, whole hours, and requests to add (1) or subtract (-1). */
export interface UsageSpans {
  readonly days: Span | null;
  readonly hours: readonly Span[];
  readonly rows: readonly (Span & { readonly sign: 1 | -1 })[];
}

/**
 * Splits a period so that sums are exact to the millisecond and come almost entirely from rollups: whole days from
 * `usage_daily`, the rest from `usage_hourly`. At an edge within an hour, the rows on its shorter side are added to the
 * hours or subtracted from them. So at most half an hour of rows is read at each end, however long the period is.
 */
export function usageSpans({ from, to }: Span, bucket: "hour" | "day"): UsageSpans {
  if (from >= to) return { days: null, hours: [], rows: [] };
  if (to - from < HOUR_MS) return { days: null, hours: [], rows: [{ from, to, sign: 1 }] };
  const whole = { from: nearestHour(from), to: nearestHour(to) };
  const rows = [
    ...spansOf({ from: whole.from, to: from }).map((span) => ({ ...span, sign: -1 as const })),
    ...spansOf({ from, to: whole.from }).map((span) => ({ ...span, sign: 1 as const })),
    ...spansOf({ from: whole.to, to }).map((span) => ({ ...span, sign: 1 as const })),
    ...spansOf({ from: to, to: whole.to }).map((span) => ({ ...span, sign: -1 as const })),
  ];
  const days = { from: floorTo(whole.from + DAY_MS - 1, DAY_MS), to: floorTo(whole.to, DAY_MS) };
  if (bucket === "hour" || days.from >= days.to) return { days: null, hours: spansOf(whole), rows };
  const hours = [
    ...spansOf({ from: whole.from, to: days.from }),
    ...spansOf({ from: days.to, to: whole.to }),
  ];
  return { days, hours, rows };
}

/** Whether all instants of a period are of the same hour (UTC). */
export const isWithinHour = ({ from, to }: Span): boolean =>
  floorTo(from, HOUR_MS) === floorTo(to - 1, HOUR_MS);

/** The shortest day of a zone, on which clocks go forward by an hour. */
const SHORTEST_DAY_MS = 23 * HOUR_MS;

/** Returns what buckets with these bounds can be summed from: days, unless a day could belong to three of them. */
export const spanUnit = (bounds: readonly Millis[]): "hour" | "day" =>
  bounds.slice(1).every((bound, at) => bound - (bounds[at] ?? 0) >= SHORTEST_DAY_MS) ? "day" : "hour";

/** The hours of UTC days that belong to another bucket than the day. */
export interface MovedHours {
  readonly hours: readonly Millis[];
  /** Whether a day is in the bucket of its first or of its last hour. */
  readonly dayIsIn: "first" | "last";
}

/**
 * Finds the hours that are moved if each of these days is put into one bucket, although it may belong to two: in a zone behind or ahead of
 * UTC, days begin within a UTC day. Of both ways, it takes the one with fewer hours.
 */
export function findMovedHours(days: readonly Span[], bounds: readonly Millis[]): MovedHours {
  const within = bounds.filter(
    (bound) => bound % DAY_MS !== 0 && days.some(({ from, to }) => from < bound && bound < to),
  );
  const after = within.flatMap((bound) => hoursOf({ from: bound, to: floorTo(bound, DAY_MS) + DAY_MS }));
  const before = within.flatMap((bound) => hoursOf({ from: floorTo(bound, DAY_MS), to: bound }));
  return after.length <= before.length
    ? { hours: after, dayIsIn: "first" }
    : { hours: before, dayIsIn: "last" };
}

const hoursOf = ({ from, to }: Span): Millis[] =>
  Array.from({ length: (to - from) / HOUR_MS }, (_, at) => from + at * HOUR_MS);

/** Splits a period by some of its UTC days: the spans without them, and those within them. */
export function splitByDays(
  { from, to }: Span,
  days: readonly Millis[],
): { readonly summed: readonly Span[]; readonly unsummed: readonly Span[] } {
  const unsummed: Span[] = [];
  const summed: Span[] = [];
  let at = from;
  for (const day of [...days].sort((one, other) => one - other)) {
    const own = { from: Math.max(day, from), to: Math.min(day + DAY_MS, to) };
    summed.push(...spansOf({ from: at, to: own.from }));
    unsummed.push(...spansOf(own));
    at = Math.max(at, own.to);
  }
  return { summed: [...summed, ...spansOf({ from: at, to })], unsummed };
}

function nearestHour(at: Millis): Millis {
  return floorTo(at + HOUR_MS / 2, HOUR_MS);
}

function spansOf(span: Span): Span[] {
  return span.from < span.to ? [span] : [];
}

function floorTo(at: Millis, unitMs: number): Millis {
  return Math.floor(at / unitMs) * unitMs;
}
