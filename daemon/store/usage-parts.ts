import type { SqliteConnection } from "../../core/ports/sqlite.ts";
import type { Millis } from "../../core/values/time.ts";
import type { TimeUnit } from "./port/reports.ts";
import type { DayZone } from "./port/values.ts";
import { type SeriesColumn, SLOT_MS } from "./rollup-definition.ts";
import { sumDays, sumEachDay, sumSlots } from "./rollup-sums.ts";
import { MAX_ADDED_ROWS, readLastSeq, readThroughSeq } from "./rollups.ts";
import { readDays, type SummedDay } from "./summed-spans.ts";
import { bucketOf, type TimeBucket } from "./time-buckets.ts";
import {
  type FoundRequestAt,
  findLatestOfRequests,
  findLatestTime,
  needsRequests,
  type Span,
  type SumQuery,
  type SumRow,
  sumRequests,
} from "./usage-sums.ts";

/** The requests after the end of the rollups. Reports add them one by one. */
interface Latest extends Span {
  readonly afterSeq: number;
}

/** The requests and rollups in one snapshot of the database. Use it only while the snapshot lasts. */
export interface UsageSnapshot {
  readonly connection: SqliteConnection;
  /** Null if all requests are read one by one. */
  readonly latest: Latest | null;
}

/** Runs reads that all see the same requests and rollups. */
export function inUsageSnapshot<Result>(
  connection: SqliteConnection,
  read: (usage: UsageSnapshot) => Result,
): Result {
  return connection.snapshot(() => read({ connection, latest: readLatest(connection) }));
}

/**
 * Returns where the rollups end, or null if they are not to be used: while the daemon builds them, reading all requests of a period
 * is faster than finding those that are missing.
 */
function readLatest(connection: SqliteConnection): Latest | null {
  const afterSeq = readThroughSeq(connection);
  if (afterSeq === null || readLastSeq(connection) - afterSeq > MAX_ADDED_ROWS) return null;
  const row = connection
    .prepare<{ first: Millis | null; last: Millis | null }>(
      "SELECT min(requested_at) AS first, max(requested_at) AS last FROM requests NOT INDEXED WHERE seq > ?",
    )
    .get([afterSeq]);
  if (row?.first == null || row.last === null) return { afterSeq, from: 0, to: 0 };
  return { afterSeq, from: row.first, to: Number(row.last) + 1 };
}

/**
 * The part of a period that is read from one table: whole days, whole slots, or requests. Of days and slots, the requests that are
 * not in the rollups yet are added.
 */
export interface UsagePart extends Span {
  readonly kind: "days" | "slots" | "requests";
}

/** How many days one part has at most, so that the daemon's main thread reads it in a few milliseconds. */
export const MAX_PART_DAYS = 100;

/** Splits a period into the parts from which its sums are read, in order. `isUsable` tells which days may be read as a whole. */
export function partsOf(
  { connection, latest }: UsageSnapshot,
  span: Span,
  isUsable: (day: SummedDay) => boolean = () => true,
): UsagePart[] {
  if (latest === null) return [{ ...span, kind: "requests" }];
  const { from, to } = widen(connection, span);
  const whole = { from: Math.ceil(from / SLOT_MS) * SLOT_MS, to: Math.floor(to / SLOT_MS) * SLOT_MS };
  if (whole.from >= whole.to) return [{ from, to, kind: "requests" }];
  const parts: UsagePart[] = [
    { from, to: whole.from, kind: "requests" },
    ...splitDays(connection, whole, isUsable),
    { from: whole.to, to, kind: "requests" },
  ];
  return parts.filter((part) => part.from < part.to);
}

/** Splits a period as `partsOf()`. A query that the rollups can't answer has one part, with all requests. */
export const partsOfQuery = (
  usage: UsageSnapshot,
  span: Span,
  query: SumQuery,
  isUsable?: (day: SummedDay) => boolean,
): UsagePart[] => (needsRequests(query) ? [{ ...span, kind: "requests" }] : partsOf(usage, span, isUsable));

/** Opens the bounds beyond which there are no requests, so that no slot at the end is read request by request. */
function widen(connection: SqliteConnection, { from, to }: Span): Span {
  const isEmpty = (span: Span) => nextRequestAt(connection, span) === null;
  return {
    from: isEmpty({ from: Number.NEGATIVE_INFINITY, to: from }) ? Number.NEGATIVE_INFINITY : from,
    to: isEmpty({ from: to, to: Number.POSITIVE_INFINITY }) ? Number.POSITIVE_INFINITY : to,
  };
}

/** Splits whole slots. Times without requests between days are in no part. */
function splitDays(
  connection: SqliteConnection,
  { from, to }: Span,
  isUsable: (day: SummedDay) => boolean,
): UsagePart[] {
  const parts: UsagePart[] = [];
  let end = from;
  let last: { kind: "days"; from: Millis; to: Millis; days: number } | null = null;
  for (const day of readDays(connection)) {
    if (day.day_from < from || day.day_to > to || !isUsable(day)) continue;
    const hasSlots = nextRequestAt(connection, { from: end, to: day.day_from }) !== null;
    if (hasSlots) parts.push({ kind: "slots", from: end, to: day.day_from });
    if (last !== null && !hasSlots && last.days < MAX_PART_DAYS) {
      last.to = day.day_to;
      last.days += 1;
    } else {
      last = { kind: "days", from: day.day_from, to: day.day_to, days: 1 };
      parts.push(last);
    }
    end = day.day_to;
  }
  return [...parts, { kind: "slots", from: end, to }];
}

/** Returns when the first request of the period was made, or null if there is none. */
export function nextRequestAt(connection: SqliteConnection, { from, to }: Span): Millis | null {
  if (from >= to) return null;
  const [hasStart, hasEnd] = [from !== Number.NEGATIVE_INFINITY, to !== Number.POSITIVE_INFINITY];
  return (
    connection
      .prepare<{ at: Millis | null }>(
        `SELECT min(requested_at) AS at FROM requests
         WHERE true ${hasStart ? "AND requested_at >= ?" : ""} ${hasEnd ? "AND requested_at < ?" : ""}`,
      )
      .get([...(hasStart ? [from] : []), ...(hasEnd ? [to] : [])])?.at ?? null
  );
}

/** Whether two periods have a common instant. */
export const doOverlap = (one: Span, other: Span) => one.from < other.to && other.from < one.to;

/** Sums a part of a period. */
export function sumPart(
  { connection, latest }: UsageSnapshot,
  part: UsagePart,
  query: SumQuery,
): readonly SumRow[] {
  if (part.kind === "requests" || latest === null) return sumRequests(connection, part, query);
  const rows = part.kind === "days" ? sumDays(connection, part, query) : sumSlots(connection, part, query);
  return doOverlap(part, latest) ? [...rows, ...sumRequests(connection, part, query, latest.afterSeq)] : rows;
}

/** Finds the latest request of a period. */
export function findLatest(usage: UsageSnapshot, span: Span, query: SumQuery): FoundRequestAt | null {
  for (const part of partsOfQuery(usage, span, query).toReversed()) {
    const found = findLatestOfPart(usage, part, query);
    if (found !== null) return found;
  }
  return null;
}

function findLatestOfPart(usage: UsageSnapshot, part: UsagePart, query: SumQuery): FoundRequestAt | null {
  const { connection, latest } = usage;
  if (part.kind === "requests" || latest === null) return findLatestOfRequests(connection, part, query);
  const newest = doOverlap(part, latest)
    ? findLatestOfRequests(connection, part, query, latest.afterSeq)
    : null;
  const from = findLatestTime(connection, part.kind, part, query);
  if (from === null) return newest;
  const inner: UsagePart =
    part.kind === "days"
      ? { kind: "slots", from, to: readDayEnd(connection, from) }
      : { kind: "requests", from, to: from + SLOT_MS };
  const found = findLatestOfPart(usage, inner, query);
  return newest === null || (found !== null && found.at > newest.at) ? found : newest;
}

function readDayEnd(connection: SqliteConnection, from: Millis): Millis {
  const row = connection
    .prepare<{ day_to: Millis }>("SELECT day_to FROM usage_days WHERE day_from = ?")
    .get([from]);
  return row?.day_to ?? from;
}

/** Returns when the latest request of the period was made for each value of a column, the latest first. */
export function findLatestByColumn(
  usage: UsageSnapshot,
  span: Span,
  column: SeriesColumn,
  filters: SumQuery["filters"] = {},
): [value: string | null, at: Millis][] {
  const query: SumQuery = { columns: [column], filters };
  const rows = partsOf(usage, span).flatMap((part) => sumPart(usage, part, query));
  const values = new Set(rows.map((row) => row[column] ?? null));
  return [...values]
    .flatMap((value): [string | null, Millis][] => {
      const latest = findLatest(usage, span, { columns: [], filters: { ...filters, [column]: value } });
      return latest === null ? [] : [[value, latest.at]];
    })
    .sort(([, one], [, other]) => other - one);
}

/** The sums of one time bucket. */
export interface BucketSums extends TimeBucket {
  readonly rows: SumRow[];
}

/**
 * Sums a period by hour, day, week or month, in order. The bounds of days follow the runtime's time zone, which SQLite may not
 * know. Only buckets with requests are visited, so a row from the year 9999 costs no more.
 */
export function sumByBucket(
  usage: UsageSnapshot,
  span: Span,
  query: SumQuery,
  unit: TimeUnit,
  zone: DayZone,
): BucketSums[] {
  const buckets = new Map<string, BucketSums>();
  const add = (at: Millis, rows: readonly SumRow[]) => {
    const bucket = bucketOf(at, unit, zone);
    const known = buckets.get(bucket.key);
    if (known === undefined) buckets.set(bucket.key, { ...bucket, rows: [...rows] });
    else known.rows.push(...rows);
  };
  const isWithinBucket = ({ day_from, day_to }: SummedDay) => day_to <= bucketOf(day_from, unit, zone).to;
  for (const part of partsOfQuery(usage, span, query, isWithinBucket)) {
    if (part.kind === "days") {
      for (const row of sumEachDay(usage.connection, part, query)) add(row.day_from ?? 0, [row]);
      for (const slot of slotsOfLatest(usage, part))
        add(slot.from, sumRequests(usage.connection, slot, query, slot.afterSeq));
    } else {
      sumBuckets(usage, part, query, (at) => bucketOf(at, unit, zone), add);
    }
  }
  return [...buckets.values()].sort((one, other) => one.from - other.from);
}

/** Visits the buckets of a part with requests. */
function sumBuckets(
  usage: UsageSnapshot,
  part: UsagePart,
  query: SumQuery,
  bucketAt: (at: Millis) => TimeBucket,
  add: (at: Millis, rows: readonly SumRow[]) => void,
): void {
  const isSlotBound = (at: Millis) => !Number.isFinite(at) || at % SLOT_MS === 0;
  for (let at = nextRequestAt(usage.connection, part); at !== null; ) {
    const bucket = bucketAt(at);
    const from = Math.max(bucket.from, part.from);
    const to = Math.min(bucket.to, part.to);
    // Before 1972, zones had offsets that are no multiple of a slot.
    const kind = isSlotBound(from) && isSlotBound(to) ? part.kind : "requests";
    add(at, sumPart(usage, { kind, from, to }, query));
    at = nextRequestAt(usage.connection, { from: to, to: part.to });
  }
}

/** Returns the slots of a part that have requests which are not in the rollups yet. */
function slotsOfLatest({ connection, latest }: UsageSnapshot, part: UsagePart): Latest[] {
  if (latest === null || !doOverlap(part, latest)) return [];
  const { afterSeq } = latest;
  return connection
    .prepare<{ slot: Millis }>(
      `SELECT DISTINCT requested_at / ${SLOT_MS} * ${SLOT_MS} AS slot FROM requests
       WHERE seq > ? AND +requested_at >= ? AND +requested_at < ?`,
    )
    .all([afterSeq, part.from, part.to])
    .map(({ slot }) => ({ afterSeq, from: slot, to: slot + SLOT_MS }));
}
