import type { SqliteConnection } from "../../core/ports/sqlite.ts";
import { SPLIT_PARTS } from "../../core/pricing/cost-split.ts";
import type { TimeBucket } from "../../core/pricing/view/time-buckets.ts";
import type {
  UsageBucketGroup,
  UsageData,
  UsageGroup,
  UsageKey,
} from "../../core/pricing/view/usage-answer.ts";
import type { UsagePlan } from "../../core/pricing/view/usage-plan.ts";
import { addToSums, emptySums, sumOf, type UsageSums } from "../../core/pricing/view/usage-sums.ts";
import type { BillingMode } from "../../core/values/record.ts";
import { DAY_MS, type Millis } from "../../core/values/time.ts";
import type { UsageDimension } from "../../core/wire/usage.ts";
import type { UsageGrouping } from "./port/reports.ts";
import type { Turn } from "./port/values.ts";
import { COST_HALF, SLOT_MS } from "./rollup-definition.ts";
import { hasHours, sumDays, sumEachDay, sumSlots, sumSlotsByBucket } from "./rollup-sums.ts";
import { findSliceEnd } from "./statistics.ts";
import type { SummedDay } from "./summed-spans.ts";
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
  sumRequestsByBucket,
  type UsageColumn,
} from "./usage-sums.ts";
import { valueColumnOf } from "./value-sums.ts";

/** How many whole days one slice has at most: 5 ms with 700 series a day. Sums by value have a tenth of the rows. */
const SLICE_DAYS = { series: 10, values: 30 } as const;

/** How many days of slots one slice has at most, and how many if they are read from the sums of whole hours. */
const SLICE_SLOT_DAYS = { series: 1, values: 7 } as const;

/** Groups by two keys. The first has few values. */
type Groups<Second, Group> = Map<UsageKey, Map<Second, Group & { readonly sums: UsageSums }>>;

/** The dimensions of some groups, and the groups so far. */
interface Grouping extends UsageGrouping {
  readonly groups: Groups<UsageKey, UsageGroup>;
}

/** The result of reading a period by several groupings: the groups of each, and the buckets. */
interface PeriodSums {
  readonly groups: readonly (readonly UsageGroup[])[];
  readonly buckets: UsageData["buckets"];
}

/** One read of a part of the period. Some groupings are its rows, and so are the buckets if it has them. */
interface Read {
  readonly query: SumQuery;
  readonly groupings: readonly Grouping[];
  readonly hasBuckets: boolean;
}

/** The sums of a period so far, and how they are read. */
interface Reading {
  readonly connection: SqliteConnection;
  readonly plan: UsagePlan;
  /** The buckets of the period; all of it if the plan has none. */
  readonly buckets: readonly Span[];
  /** The dimension that the sums of buckets are separated by. */
  readonly bucketBy: UsageDimension | null;
  /** Reads everything at once, from requests. */
  readonly all: Read;
  /** Reads the same from the rollups: what they sum by value is read alone, since it has fewer rows. */
  readonly reads: readonly Read[];
  readonly bucketGroups: Groups<number, UsageBucketGroup>;
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
  const own = groupings.map(({ by, thenBy }): Grouping => ({ by, thenBy, groups: new Map() }));
  const hasBuckets = buckets.length > 0;
  // What is grouped as the buckets are is summed from them.
  const isOfBuckets = ({ by, thenBy }: Grouping) => hasBuckets && by === bucketBy && thenBy === null;
  const others = own.filter((each) => !isOfBuckets(each));
  const dimensions = own.flatMap(({ by, thenBy }) => [by, thenBy]);
  const columns = columnsOfDimensions(...dimensions, hasBuckets ? bucketBy : null);
  const reading: Reading = {
    connection,
    plan,
    bucketBy,
    // A bucket that is moved to a shorter day may have no length.
    buckets: hasBuckets ? buckets : [{ from, to }],
    all: { query: { ...query, columns }, groupings: others, hasBuckets },
    reads: listReads(query, others, hasBuckets ? columnsOfDimensions(bucketBy) : null),
    bucketGroups: new Map(),
  };
  const areValues = reading.reads.every((read) => valueColumnOf(read.query) !== null);
  const sliceDays = areValues ? SLICE_DAYS.values : SLICE_DAYS.series;
  const skip = (at: Millis) => skipEmptyDays(connection, plan, { from: at, to });
  for (let at = skip(from); at < to; ) {
    const end = plan.zone.startOf(plan.zone.dateAt(at + sliceDays * DAY_MS));
    const span = { from: at, to: Math.min(to, end) };
    const rest = needsRequests(reading.all.query)
      ? [span]
      : inUsageSnapshot(connection, (usage) => addWholeDays(usage, reading, span));
    await turn();
    for (const part of rest) await addParts(reading, part, turn);
    at = skip(span.to);
  }
  const { bucketGroups } = reading;
  return {
    groups: own.map((each) => (isOfBuckets(each) ? sumBuckets(bucketGroups) : listGroups(each.groups))),
    buckets: listGroups(bucketGroups),
  };
}

/** Returns the beginning of the first day with a request, or that of the span if it is later; the end of the span if there is none. */
function skipEmptyDays(connection: SqliteConnection, { zone }: UsagePlan, span: Span): Millis {
  const first = nextRequestAt(connection, span);
  return first === null ? span.to : Math.max(span.from, zone.startOf(zone.dateAt(first)));
}

/** Separates what is summed by value from what needs the series. `ofBuckets` are the columns of the buckets; null without buckets. */
function listReads(
  query: Omit<SumQuery, "columns">,
  groupings: readonly Grouping[],
  ofBuckets: readonly UsageColumn[] | null,
): Read[] {
  const columnsOf = ({ by, thenBy }: Grouping) => columnsOfDimensions(by, thenBy);
  const isByValue = (grouping: Grouping) =>
    valueColumnOf({ ...query, columns: columnsOf(grouping) }) !== null;
  const [byValue, bySeries] = [groupings.filter(isByValue), groupings.filter((each) => !isByValue(each))];
  const sets = [...Map.groupBy(byValue, (each) => columnsOf(each).join()).values()];
  if (bySeries.length > 0) sets.push(bySeries);
  const reads = sets.map((own) => ({
    query: { ...query, columns: [...new Set(own.flatMap(columnsOf))] },
    groupings: own,
    hasBuckets: false,
  }));
  if (ofBuckets === null) return reads;
  const same = reads.findIndex((read) => read.query.columns.join() === ofBuckets.join());
  return same === -1
    ? [...reads, { query: { ...query, columns: ofBuckets }, groupings: [], hasBuckets: true }]
    : reads.map((read, at) => (at === same ? { ...read, hasBuckets: true } : read));
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
  for (const read of reading.reads) {
    const isByDay = read.hasBuckets && reading.plan.unit === "day";
    if (isByDay)
      for (const row of sumEachDay(connection, span, read.query))
        addRow(reading, read, findBucket(reading, row.day_from ?? 0), row);
    else
      for (const { from, to, bucket } of read.hasBuckets
        ? cutByBucket(reading, span)
        : [{ ...span, bucket: 0 }])
        for (const row of sumDays(connection, { from, to }, read.query)) addRow(reading, read, bucket, row);
  }
  if (latest === null || !doOverlap(span, latest)) return;
  for (const { grid, bucket, ...own } of stretchesOf(reading, span))
    for (const row of sumRequestsByBucket(connection, own, reading.all.query, grid, latest.afterSeq))
      addRow(reading, reading.all, bucket + Number(row.bucket), row);
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
  // From the beginning of a day, so that its hours are whole and their sums are read.
  const from = skipEmptyDays(usage.connection, reading.plan, span);
  if (from === span.to) return null;
  const isByRequest = usage.latest === null || needsRequests(reading.all.query);
  let to = Math.min(span.to, from + countSlotDays(usage, reading, from) * DAY_MS);
  if (isByRequest)
    to = isFoundByIndex(reading.all.query) ? span.to : findSliceEnd(usage.connection, { from, to: span.to });
  const parts: UsagePart[] = isByRequest
    ? [{ kind: "requests", from, to }]
    : partsOf(usage, { from, to }, () => false);
  for (const part of parts) addPart(usage, reading, part, { from, to });
  return to < span.to ? to : null;
}

/** Returns how many days of slots one slice may read. */
function countSlotDays({ connection }: UsageSnapshot, { reads, plan }: Reading, from: Millis): number {
  const span = { from, to: from + DAY_MS };
  const areHours = plan.unit !== "15m" && reads.every((read) => hasHours(connection, span, read.query));
  return areHours ? SLICE_SLOT_DAYS.values : SLICE_SLOT_DAYS.series;
}

const floorToSlot = (at: Millis) => Math.floor(at / SLOT_MS) * SLOT_MS;

/** Adds a part of a slice. A bound of the part is infinite where the database has no requests beyond the slice. */
function addPart(
  { connection, latest }: UsageSnapshot,
  reading: Reading,
  part: UsagePart,
  slice: Span,
): void {
  const { all, reads } = reading;
  const inner = { from: Math.max(part.from, slice.from), to: Math.min(part.to, slice.to) };
  for (const { grid, bucket, ...span } of stretchesOf(reading, inner)) {
    // The first slot may begin before the first bucket.
    const add = (read: Read, row: SumRow & { readonly bucket?: number }) =>
      addRow(reading, read, bucket + Math.max(Number(row.bucket ?? 0), 0), row);
    const slots = part.kind === "slots" ? toWholeSlots(span, inner, part, grid) : null;
    for (const read of slots === null ? [] : reads) {
      const rows = read.hasBuckets
        ? sumSlotsByBucket(connection, slots ?? span, read.query, grid)
        : sumSlots(connection, slots ?? span, read.query);
      for (const row of rows) add(read, row);
    }
    const afterSeq = slots === null ? null : (latest?.afterSeq ?? null);
    if (slots === null || (latest !== null && doOverlap(span, latest)))
      for (const row of sumRequestsByBucket(connection, span, all.query, grid, afterSeq)) add(all, row);
  }
}

/** Returns the whole slots of a span, or null if its bounds are not those of slots. */
function toWholeSlots(span: Span, inner: Span, part: Span, grid: BucketGrid): Span | null {
  const isCut = span.to > grid.from + grid.widthMs;
  // Where there are no requests beyond, whole slots are read, so that "until now" needs no look at requests.
  const from = span.from === inner.from && part.from < inner.from ? floorToSlot(span.from) : span.from;
  const to = span.to === inner.to && part.to > inner.to ? floorToSlot(span.to + SLOT_MS - 1) : span.to;
  // Before 1972, zones had offsets that are no multiple of a slot.
  const isWhole = [from, to, ...(isCut ? [grid.from, grid.widthMs] : [])].every((at) => at % SLOT_MS === 0);
  return isWhole ? { from, to } : null;
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

/** Adds a row to the groupings of its read, and to the bucket if the read has buckets. */
function addRow(reading: Reading, { groupings, hasBuckets }: Read, bucket: number, row: SumRow): void {
  let sums = converted.get(row);
  if (sums === undefined) converted.set(row, (sums = toUsageSums(row)));
  addToGroups(groupings, row, sums);
  if (hasBuckets) addToBucket(reading, bucket, row, sums);
}

/** The sums of rows, many of which are remembered. */
const converted = new WeakMap<SumRow, Readonly<UsageSums>>();

function addToGroups(groupings: readonly Grouping[], row: SumRow, sums: Readonly<UsageSums>): void {
  for (const grouping of groupings) {
    const by = keyOfRow(row, grouping.by);
    const thenBy = keyOfRow(row, grouping.thenBy);
    const groups = groupsAt(grouping.groups, by);
    const group = groups.get(thenBy);
    if (group === undefined) groups.set(thenBy, { by, thenBy, sums: sumOf([sums]) });
    else addToSums(group.sums, sums);
  }
}

function addToBucket(
  { bucketGroups, bucketBy }: Reading,
  bucket: number,
  row: SumRow,
  sums: Readonly<UsageSums>,
): void {
  const by = keyOfRow(row, bucketBy);
  const groups = groupsAt(bucketGroups, by);
  const group = groups.get(bucket);
  if (group === undefined) groups.set(bucket, { bucket, by, sums: sumOf([sums]) });
  else addToSums(group.sums, sums);
}

/** Returns the groups of a first key. */
function groupsAt<Second, Group>(all: Map<UsageKey, Map<Second, Group>>, first: UsageKey) {
  let groups = all.get(first);
  if (groups === undefined) all.set(first, (groups = new Map()));
  return groups;
}

const listGroups = <Group>(all: ReadonlyMap<UsageKey, ReadonlyMap<unknown, Group>>): Group[] =>
  [...all.values()].flatMap((groups) => [...groups.values()]);

/** Sums the buckets of each value. */
const sumBuckets = (all: Reading["bucketGroups"]): UsageGroup[] =>
  [...all].map(([by, groups]) => ({
    by,
    thenBy: null,
    sums: sumOf([...groups.values()].map(({ sums }) => sums)),
  }));

const toBigInt = (sum: number | bigint | null): bigint | null => (sum === null ? null : BigInt(sum));

/** Converts a row. An unknown value of the cost source (a damaged cell) counts as an estimate, and one of the billing mode as unknown. */
function toUsageSums(row: SumRow): UsageSums {
  const mode = row.billing_mode in SPLIT_PARTS ? (row.billing_mode as BillingMode) : "unknown";
  const isEstimated = !["computed", "provider", "unpriced"].includes(row.cost_source);
  const sums = emptySums();
  sums.requests = row.requests;
  sums.failed = row.failed_requests;
  sums.blocked = row.blocked_requests;
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
