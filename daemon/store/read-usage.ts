import type { SqliteConnection } from "../../core/ports/sqlite.ts";
import { SPLIT_PARTS } from "../../core/pricing/cost-split.ts";
import type { TimeBucket } from "../../core/pricing/view/time-buckets.ts";
import type { UsageBucketGroup, UsageData, UsageGroup } from "../../core/pricing/view/usage-answer.ts";
import type { UsagePlan } from "../../core/pricing/view/usage-plan.ts";
import { addToSums, emptySums, sumOf, type UsageSums } from "../../core/pricing/view/usage-sums.ts";
import type { BillingMode } from "../../core/values/record.ts";
import type { Millis } from "../../core/values/time.ts";
import type { UsageDimension } from "../../core/wire/usage.ts";
import type { UsageGrouping } from "./port/reports.ts";
import type { Turn } from "./port/values.ts";
import type { SummedDay } from "./rollup-build.ts";
import { COST_HALF, SLOT_MS } from "./rollup-definition.ts";
import { findSliceEnd } from "./statistics.ts";
import { columnsOfDimensions, keyOfRow, toCondition } from "./usage-dimensions.ts";
import {
  doOverlap,
  inUsageSnapshot,
  nextRequestAt,
  partsOf,
  type UsagePart,
  type UsageSnapshot,
} from "./usage-parts.ts";
import {
  type BucketGrid,
  isFoundByIndex,
  needsRequests,
  type Span,
  type SumQuery,
  type SumRow,
  sumEachDay,
  sumRequestsByBucket,
  sumSeries,
  sumSlotsByBucket,
} from "./usage-sums.ts";

const DAY_MS = 86_400_000;

/** How many whole days one slice has at most: 5 ms with 300 series. */
const SLICE_DAYS = 10;

/** The dimensions of some groups, and the groups so far. */
interface Grouping extends UsageGrouping {
  readonly groups: Map<string, UsageGroup & { readonly sums: UsageSums }>;
}

/** What a period gives for some groupings: the groups of each, and the buckets. */
interface PeriodSums {
  readonly groups: readonly (readonly UsageGroup[])[];
  readonly buckets: UsageData["buckets"];
}

/** The sums of a period so far, and how they are read. */
interface Reading {
  readonly connection: SqliteConnection;
  readonly plan: UsagePlan;
  /** The buckets of the period; all of it if the plan has none. */
  readonly buckets: readonly Span[];
  /** The dimension that the sums of buckets are separated by. */
  readonly bucketBy: UsageDimension | null;
  /** Separates the dimensions of all groupings, and only that of the buckets. */
  readonly all: SumQuery;
  readonly ofBuckets: SumQuery;
  readonly groupings: readonly Grouping[];
  readonly bucketGroups: Map<string, UsageBucketGroup & { readonly sums: UsageSums }>;
}

/**
 * Reads the sums of a plan, in slices with `turn` in between. The groups and the buckets of a slice are read from one snapshot, and
 * each slice has its own part of the period, so they add up to the same total whatever is stored meanwhile.
 */
export async function readUsage(
  connection: SqliteConnection,
  plan: UsagePlan,
  turn: Turn,
): Promise<Omit<UsageData, "coverage">> {
  const [data] = await readUsageEach(connection, plan, [plan.query], turn);
  return data as Omit<UsageData, "coverage">;
}

/** Reads the sums of a plan as `readUsage()`, by several groupings at once in place of its own. */
export async function readUsageEach(
  connection: SqliteConnection,
  plan: UsagePlan,
  groupings: readonly UsageGrouping[],
  turn: Turn,
): Promise<Omit<UsageData, "coverage">[]> {
  const period = { ...plan.period, bucketBy: plan.query.by };
  const current = await readPeriod(connection, plan, groupings, period, plan.buckets, turn);
  // An answer has the buckets of the compared period in total only, which takes a tenth of the time.
  const before = plan.compared === null ? null : { ...plan.compared, bucketBy: null };
  const compared =
    before === null
      ? null
      : await readPeriod(connection, plan, groupings, before, plan.comparedBuckets, turn);
  return current.groups.map((groups, at) => ({
    groups,
    buckets: current.buckets,
    compared: compared?.groups[at] ?? [],
    comparedBuckets: compared?.buckets ?? [],
  }));
}

async function readPeriod(
  connection: SqliteConnection,
  plan: UsagePlan,
  groupings: readonly UsageGrouping[],
  { from, to, bucketBy }: Span & Pick<Reading, "bucketBy">,
  buckets: readonly TimeBucket[],
  turn: Turn,
): Promise<PeriodSums> {
  const query = { filters: {}, where: plan.query.filters.map(toCondition) };
  const reading: Reading = {
    connection,
    plan,
    bucketBy,
    // A bucket that is moved to a shorter day may have no length.
    buckets: buckets.length === 0 ? [{ from, to }] : buckets,
    all: { ...query, columns: columnsOfDimensions(...groupings.flatMap(({ by, thenBy }) => [by, thenBy])) },
    ofBuckets: { ...query, columns: columnsOfDimensions(bucketBy) },
    groupings: groupings.map(({ by, thenBy }) => ({ by, thenBy, groups: new Map() })),
    bucketGroups: new Map(),
  };
  for (let at = from; at < to; ) {
    const end = plan.zone.startOf(plan.zone.dateAt(at + SLICE_DAYS * DAY_MS));
    const span = { from: at, to: Math.min(to, end) };
    const rest = needsRequests(reading.all)
      ? [span]
      : inUsageSnapshot(connection, (usage) => addWholeDays(usage, reading, span));
    await turn();
    for (const part of rest) await addParts(reading, part, turn);
    at = span.to;
  }
  return {
    groups: reading.groupings.map(({ groups }) => [...groups.values()]),
    buckets: buckets.length === 0 ? [] : [...reading.bucketGroups.values()],
  };
}

/** Adds the days whose sums are stored, and returns the other parts of the span. */
function addWholeDays(usage: UsageSnapshot, reading: Reading, span: Span): Span[] {
  // A day may begin before the span if the database has no requests there.
  const isWithinBucket = ({ day_from, day_to }: SummedDay) =>
    day_from >= span.from && day_to <= (reading.buckets[findBucket(reading, day_from)]?.to ?? 0);
  const rest: Span[] = [];
  for (const part of partsOf(usage, span, isWithinBucket)) {
    const own = { from: Math.max(part.from, span.from), to: Math.min(part.to, span.to) };
    if (part.kind === "days") addDays(usage, reading, own);
    else rest.push(own);
  }
  return rest;
}

function addDays({ connection, latest }: UsageSnapshot, reading: Reading, span: Span): void {
  const { all, ofBuckets, plan, bucketBy, groupings } = reading;
  if (plan.unit === "day") {
    const isSame = groupings.every(({ by, thenBy }) => by === bucketBy && thenBy === null);
    for (const row of sumEachDay(connection, span, ofBuckets)) {
      const bucket = findBucket(reading, row.day_from ?? 0);
      if (isSame) addRow(reading, bucket, row);
      else addToBucket(reading, bucket, row, toUsageSums(row));
    }
    if (!isSame)
      for (const row of sumSeries(connection, "days", span, all)) addToGroups(reading, row, toUsageSums(row));
  } else {
    for (const { from, to, bucket } of cutByBucket(reading, span))
      for (const row of sumSeries(connection, "days", { from, to }, all)) addRow(reading, bucket, row);
  }
  if (latest === null || !doOverlap(span, latest)) return;
  for (const { grid, bucket, ...own } of stretchesOf(reading, span))
    for (const row of sumRequestsByBucket(connection, own, all, grid, latest.afterSeq))
      addRow(reading, bucket + Number(row.bucket), row);
}

/** Adds a part of the period, slice by slice. */
async function addParts(reading: Reading, { from, to }: Span, turn: Turn): Promise<void> {
  let next: Millis | null = from;
  while (next !== null) {
    const start: Millis = next;
    next = inUsageSnapshot(reading.connection, (usage) => addSlice(usage, reading, { from: start, to }));
    if (next !== null) await turn();
  }
}

/** Adds the first requests of the span: at most a day of slots, and not too many requests. Returns where the next slice begins. */
function addSlice(usage: UsageSnapshot, reading: Reading, span: Span): Millis | null {
  const first = nextRequestAt(usage.connection, span);
  if (first === null) return null;
  const from = Math.max(span.from, Math.floor(first / SLOT_MS) * SLOT_MS);
  const isByRequest = usage.latest === null || needsRequests(reading.all);
  let to = Math.min(span.to, from + DAY_MS);
  if (isByRequest)
    to = isFoundByIndex(reading.all) ? span.to : findSliceEnd(usage.connection, { from, to: span.to });
  const parts: UsagePart[] = isByRequest
    ? [{ kind: "requests", from, to }]
    : partsOf(usage, { from, to }, () => false);
  for (const part of parts) addPart(usage, reading, part, { from, to });
  return to < span.to ? to : null;
}

const floorToSlot = (at: Millis) => Math.floor(at / SLOT_MS) * SLOT_MS;

/** Adds a part of a slice. A bound of the part is infinite where the database has no requests beyond the slice. */
function addPart(
  { connection, latest }: UsageSnapshot,
  reading: Reading,
  part: UsagePart,
  slice: Span,
): void {
  const { all } = reading;
  const inner = { from: Math.max(part.from, slice.from), to: Math.min(part.to, slice.to) };
  for (const { grid, bucket, ...span } of stretchesOf(reading, inner)) {
    const isCut = span.to > grid.from + grid.widthMs;
    // Where there are no requests beyond, whole slots are read, so that "until now" needs no look at requests.
    const from = span.from === inner.from && part.from < inner.from ? floorToSlot(span.from) : span.from;
    const to = span.to === inner.to && part.to > inner.to ? floorToSlot(span.to + SLOT_MS - 1) : span.to;
    // Before 1972, zones had offsets that are no multiple of a slot.
    const isWhole = [from, to, ...(isCut ? [grid.from, grid.widthMs] : [])].every((at) => at % SLOT_MS === 0);
    const isBySlot = part.kind === "slots" && isWhole;
    const rows = isBySlot
      ? sumSlotsByBucket(connection, { from, to }, all, grid)
      : sumRequestsByBucket(connection, span, all, grid);
    if (isBySlot && latest !== null && doOverlap(span, latest))
      rows.push(...sumRequestsByBucket(connection, span, all, grid, latest.afterSeq));
    // The first slot may begin before the first bucket.
    for (const row of rows) addRow(reading, bucket + Math.max(Number(row.bucket), 0), row);
  }
}

/** A part of one bucket. */
interface BucketPart extends Span {
  readonly bucket: number;
}

/** A part of adjacent buckets of equal length. `bucket` is the first of the grid. */
interface Stretch extends BucketPart {
  readonly grid: BucketGrid;
}

/** Returns the position of the bucket that contains the instant. */
function findBucket({ buckets }: Reading, at: Millis): number {
  let [low, high] = [0, buckets.length - 1];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if ((buckets[middle]?.from ?? 0) <= at) low = middle;
    else high = middle - 1;
  }
  return low;
}

function cutByBucket(reading: Reading, span: Span): BucketPart[] {
  const parts: BucketPart[] = [];
  for (let bucket = findBucket(reading, span.from); bucket < reading.buckets.length; bucket += 1) {
    const { from, to } = reading.buckets[bucket] as Span;
    if (from >= span.to) break;
    const own = { from: Math.max(from, span.from), to: Math.min(to, span.to), bucket };
    if (own.from < own.to) parts.push(own);
  }
  return parts;
}

/** Joins adjacent buckets of equal length, so that one query sums them all. */
function stretchesOf(reading: Reading, span: Span): Stretch[] {
  const stretches: Stretch[] = [];
  for (const { from, to, bucket } of cutByBucket(reading, span)) {
    const own = reading.buckets[bucket] as Span;
    const last = stretches.at(-1);
    const widthMs = own.to - own.from;
    if (
      last?.to === from &&
      last.grid.widthMs === widthMs &&
      last.grid.from + (bucket - last.bucket) * widthMs === own.from
    )
      stretches[stretches.length - 1] = { ...last, to };
    else stretches.push({ from, to, bucket, grid: { from: own.from, widthMs } });
  }
  return stretches;
}

function addRow(reading: Reading, bucket: number, row: SumRow): void {
  const sums = toUsageSums(row);
  addToGroups(reading, row, sums);
  addToBucket(reading, bucket, row, sums);
}

// The keys of the maps have NUL between their parts, which no stored text has.

function addToGroups({ groupings }: Reading, row: SumRow, sums: UsageSums): void {
  for (const { groups, ...dimensions } of groupings) {
    const [by, thenBy] = [keyOfRow(row, dimensions.by), keyOfRow(row, dimensions.thenBy)];
    const key = `${by ?? ""}\0${thenBy ?? ""}`;
    const group = groups.get(key);
    if (group === undefined) groups.set(key, { by, thenBy, sums: sumOf([sums]) });
    else addToSums(group.sums, sums);
  }
}

function addToBucket(
  { bucketGroups, bucketBy }: Reading,
  bucket: number,
  row: SumRow,
  sums: UsageSums,
): void {
  const by = keyOfRow(row, bucketBy);
  const key = `${bucket}\0${by ?? ""}`;
  const group = bucketGroups.get(key);
  if (group === undefined) bucketGroups.set(key, { bucket, by, sums: sumOf([sums]) });
  else addToSums(group.sums, sums);
}

const toBigInt = (sum: number | bigint | null): bigint | null => (sum === null ? null : BigInt(sum));

/** Converts a row. An unknown value of the cost source (a damaged cell) counts as an estimate, and one of the billing mode as unknown. */
function toUsageSums(row: SumRow): UsageSums {
  const mode = row.billing_mode in SPLIT_PARTS ? (row.billing_mode as BillingMode) : "unknown";
  const isEstimated = !["computed", "provider", "unpriced"].includes(row.cost_source);
  const sums = emptySums();
  sums.requests = row.requests;
  sums.failed = row.failed_requests;
  sums.unpriced = row.unpriced_requests;
  sums.incomplete = row.incomplete_requests;
  sums.estimated = isEstimated ? row.requests - row.unpriced_requests : 0;
  sums.unknownBilling = mode === "unknown" ? row.requests : 0;
  sums.tokens = {
    prompt: toBigInt(row.prompt_tokens),
    cacheRead: toBigInt(row.cache_read_tokens),
    cacheWrite: toBigInt(row.cache_write_tokens),
    cacheWrite1h: toBigInt(row.cache_write_1h_tokens),
    completion: toBigInt(row.completion_tokens),
    thinking: toBigInt(row.thinking_tokens),
  };
  sums[SPLIT_PARTS[mode]] = BigInt(row.cost_high ?? 0) * COST_HALF + BigInt(row.cost_low ?? 0);
  return sums;
}
