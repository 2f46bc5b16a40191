import { formatInstant } from "../../wire/instant.ts";
import type { UsageAnswer, UsageDimension } from "../../wire/usage.ts";
import { sumOfSplit } from "../cost-split.ts";
import { findCaveats } from "./usage-caveats.ts";
import type { UsagePlan } from "./usage-plan.ts";
import { printUsageQuery, type UsageNotice } from "./usage-query.ts";
import { addToSums, emptySums, metricOf, sumOf, sumsJson, type UsageSums } from "./usage-sums.ts";

/** The value of a dimension; null if it is unknown. */
export type UsageKey = string | null;

/** The sums of requests that agree in both dimensions. A dimension that the query lacks is null. */
export interface UsageGroup {
  readonly by: UsageKey;
  readonly thenBy: UsageKey;
  readonly sums: Readonly<UsageSums>;
}

/** The sums of requests of one bucket that agree in the first dimension. */
export interface UsageBucketGroup {
  /** The position of the bucket in the plan. */
  readonly bucket: number;
  readonly by: UsageKey;
  readonly sums: Readonly<UsageSums>;
}

/** What a host has read for a plan. Several groups may have the same keys. */
export interface UsageData {
  readonly groups: readonly UsageGroup[];
  /** Empty if the plan has no buckets. */
  readonly buckets: readonly UsageBucketGroup[];
  /** The same of the compared period; empty if there is none. */
  readonly compared: readonly UsageGroup[];
  /** Their dimension is not used. */
  readonly comparedBuckets: readonly UsageBucketGroup[];
  readonly coverage: UsageAnswer["coverage"];
  /** For how long no meter ran in each bucket, in milliseconds. Null or absent: it is not known. */
  readonly stoppedMs?: readonly number[] | null;
}

/** What an answer has besides the data. */
export interface UsageAnswerOptions {
  readonly notices?: readonly UsageNotice[];
  /** Returns the display name of a value. Default: the value itself. */
  readonly nameOf?: (dimension: UsageDimension, key: string) => string | null;
}

/** The label of a value that is missing: `no …` if calls can be without one, otherwise `unknown …`. */
const UNKNOWN_LABELS: Readonly<Partial<Record<UsageDimension, string>>> = {
  project: "no project",
  branch: "no branch",
  client: "unknown program",
  client_version: "unknown program version",
  session: "no session",
  agent: "no sub-agent",
  commit: "no commit",
  remote: "no repository",
  pull_request: "no pull request",
  http_status: "no response",
  error: "no error",
  machine: "no machine",
};

/** The sums of one value of a dimension in both periods. */
interface Entry {
  readonly key: UsageKey;
  readonly totals: UsageSums;
  readonly compared: UsageSums;
}

/** Some entries that are shown as one: a single value, or all others together. */
interface Line extends Entry {
  readonly keys: ReadonlySet<UsageKey>;
  readonly isOther: boolean;
}

/** Turns what a host has read into the answer. Rows, columns, cells and buckets each add up to their total. */
export function answerUsage(
  plan: UsagePlan,
  data: UsageData,
  { notices = [], nameOf = () => null }: UsageAnswerOptions = {},
): UsageAnswer {
  const { query, period, compared } = plan;
  const { metric, by, thenBy, top } = query;
  const hasCompared = compared !== null;
  const totals = sumOf(data.groups.map(({ sums }) => sums));
  const rows = by === null ? [] : findLines(data.groups, data.compared, (group) => group.by, metric, top);
  const columns =
    thenBy === null ? [] : findLines(data.groups, data.compared, (group) => group.thenBy, metric, top);
  const value = (dimension: UsageDimension, line: Line) => ({
    key: line.key,
    label: labelOf(dimension, line, nameOf),
    other_values: line.isOther ? line.keys.size : null,
    totals: sumsJson(line.totals),
    compared: hasCompared ? sumsJson(line.compared) : null,
  });
  const comparedTotals = sumOf(data.compared.map(({ sums }) => sums));
  return {
    query: printUsageQuery(query),
    tz: plan.zone.name,
    period: spanJson(period),
    compared_period: compared === null ? null : spanJson(compared),
    metric,
    by,
    then_by: thenBy,
    bucket: plan.unit,
    totals: sumsJson(totals),
    compared: hasCompared ? sumsJson(comparedTotals) : null,
    rows: joinCells(rows, columns, data).map(({ row, cells, series }) => ({
      ...value(by as UsageDimension, row),
      cells: cells.map((cell) => value(thenBy as UsageDimension, cell)),
      series: seriesOf(plan.buckets.length, series, metric),
    })),
    columns: columns.map((column) => value(thenBy as UsageDimension, column)),
    buckets: sumBuckets(plan.buckets.length, data.buckets).map((sums, at) => ({
      ...spanJson(plan.buckets[at]!),
      totals: sumsJson(sums),
      stopped_ms: data.stoppedMs?.[at] ?? null,
    })),
    compared_series: seriesOf(plan.comparedBuckets.length, data.comparedBuckets, metric),
    change: hasCompared && by !== null ? findChange(by, data, metric, nameOf) : null,
    coverage: data.coverage,
    caveats: findCaveats(plan, totals, data.coverage),
    notices: [...notices],
  };
}

const spanJson = ({ from, to, label }: { from: number; to: number; label: string }) => ({
  from: formatInstant(from),
  to: formatInstant(to),
  label,
});

function labelOf(
  dimension: UsageDimension,
  { key, isOther }: Pick<Line, "key" | "isOther">,
  nameOf: NonNullable<UsageAnswerOptions["nameOf"]>,
): string {
  return isOther ? "Other" : labelOfKey(dimension, key, nameOf);
}

/** Returns the display name of a value. */
export const labelOfKey = (
  dimension: UsageDimension,
  key: UsageKey,
  nameOf: NonNullable<UsageAnswerOptions["nameOf"]>,
): string => (key === null ? (UNKNOWN_LABELS[dimension] ?? "unknown") : (nameOf(dimension, key) ?? key));

/** Describes the missing value of a dimension behind its name: `none` if calls can be without one, otherwise `unknown`. */
export const describeMissing = (dimension: UsageDimension): "none" | "unknown" =>
  UNKNOWN_LABELS[dimension]?.startsWith("no ") === true ? "none" : "unknown";

/** Sums groups by one key in both periods. */
function sumByKey(
  groups: readonly UsageGroup[],
  compared: readonly UsageGroup[],
  keyOf: (group: UsageGroup) => UsageKey,
): Entry[] {
  const entries = new Map<UsageKey, Entry>();
  const entryOf = (key: UsageKey) => {
    const known = entries.get(key);
    if (known !== undefined) return known;
    const entry = { key, totals: emptySums(), compared: emptySums() };
    entries.set(key, entry);
    return entry;
  };
  for (const group of groups) addToSums(entryOf(keyOf(group)).totals, group.sums);
  for (const group of compared) addToSums(entryOf(keyOf(group)).compared, group.sums);
  return [...entries.values()];
}

type Metric = UsageAnswer["metric"];

/** Sorts by the metric, then by the cost of any kind, the requests, the compared metric and the key. */
function byMetric(metric: Metric): (one: Entry, other: Entry) => number {
  const down = (one: bigint, other: bigint) => (one === other ? 0 : one > other ? -1 : 1);
  const value = ({ totals }: Entry) => metricOf(totals, metric) ?? -1n;
  const weight = ({ totals }: Entry) => sumOfSplit(totals);
  return (one, other) =>
    down(value(one), value(other)) ||
    down(weight(one), weight(other)) ||
    other.totals.requests - one.totals.requests ||
    down(metricOf(one.compared, metric) ?? -1n, metricOf(other.compared, metric) ?? -1n) ||
    byKey(one.key, other.key);
}

/** Sorts keys, which all differ; the unknown one is last. */
const byKey = (one: UsageKey, other: UsageKey): number => {
  if (one === null) return 1;
  return other === null || one < other ? -1 : 1;
};

/** Returns the top values, and all others as one line. */
function findLines(
  groups: readonly UsageGroup[],
  compared: readonly UsageGroup[],
  keyOf: (group: UsageGroup) => UsageKey,
  metric: Metric,
  top: number,
): Line[] {
  const entries = sumByKey(groups, compared, keyOf).sort(byMetric(metric));
  // "Other" of a single value would hide its name and save no line.
  const shown = entries.length === top + 1 ? entries : entries.slice(0, top);
  const rest = entries.slice(shown.length);
  const lines = shown.map((entry): Line => ({ ...entry, keys: new Set([entry.key]), isOther: false }));
  if (rest.length === 0) return lines;
  const other: Line = {
    key: null,
    totals: sumOf(rest.map(({ totals }) => totals)),
    compared: sumOf(rest.map(({ compared: sums }) => sums)),
    keys: new Set(rest.map(({ key }) => key)),
    isOther: true,
  };
  return [...lines, other];
}

/** A row with its cells and the groups of its buckets. */
interface JoinedRow {
  readonly row: Line;
  readonly cells: readonly Line[];
  readonly series: readonly UsageBucketGroup[];
}

function joinCells(rows: readonly Line[], columns: readonly Line[], data: UsageData): JoinedRow[] {
  const rowOf = indexLines(rows);
  const [groups, compared] = [data.groups, data.compared].map((all) =>
    Map.groupBy(all, ({ by }) => rowOf.get(by)),
  );
  const buckets = Map.groupBy(data.buckets, ({ by }) => rowOf.get(by));
  return rows.map((row) => ({
    row,
    cells: cellsOf(columns, groups?.get(row) ?? [], compared?.get(row) ?? []),
    series: buckets.get(row) ?? [],
  }));
}

const indexLines = (lines: readonly Line[]): ReadonlyMap<UsageKey, Line> =>
  new Map(lines.flatMap((line) => [...line.keys].map((key) => [key, line] as const)));

/** Sums the groups of one row by column, in the order of the columns. */
function cellsOf(
  columns: readonly Line[],
  groups: readonly UsageGroup[],
  compared: readonly UsageGroup[],
): Line[] {
  const columnOf = indexLines(columns);
  const cells = new Map<Line | undefined, Line>();
  for (const entry of sumByKey(groups, compared, (group) => group.thenBy)) {
    const column = columnOf.get(entry.key);
    const cell = cells.get(column);
    if (cell !== undefined) {
      addToSums(cell.totals, entry.totals);
      addToSums(cell.compared, entry.compared);
    } else if (column !== undefined)
      cells.set(column, { ...column, totals: entry.totals, compared: entry.compared });
  }
  return columns.flatMap((column) => cells.get(column) ?? []);
}

function sumBuckets(length: number, groups: readonly UsageBucketGroup[]): UsageSums[] {
  const sums = Array.from({ length }, emptySums);
  for (const group of groups) {
    const sum = sums[group.bucket];
    if (sum !== undefined) addToSums(sum, group.sums);
  }
  return sums;
}

/** Returns the metric of each bucket. */
const seriesOf = (length: number, groups: readonly UsageBucketGroup[], metric: Metric): (string | null)[] =>
  sumBuckets(length, groups).map((sums) => metricOf(sums, metric)?.toString() ?? null);

/** Finds the value that changed most in the direction of the total. Null if nothing changed. */
function findChange(
  dimension: UsageDimension,
  { groups, compared }: UsageData,
  metric: Metric,
  nameOf: NonNullable<UsageAnswerOptions["nameOf"]>,
): UsageAnswer["change"] {
  const entries = sumByKey(groups, compared, ({ by }) => by);
  const deltas = entries
    .map(({ key, totals, compared: before }) => ({
      key,
      delta: (metricOf(totals, metric) ?? 0n) - (metricOf(before, metric) ?? 0n),
    }))
    .sort((one, other) => byKey(one.key, other.key));
  const delta = deltas.reduce((sum, each) => sum + each.delta, 0n);
  if (delta === 0n) return null;
  const most = deltas.reduce((best, each) => {
    const isMore = delta > 0n ? each.delta > best.delta : each.delta < best.delta;
    return isMore ? each : best;
  });
  return {
    delta: delta.toString(),
    key: most.key,
    label: labelOfKey(dimension, most.key, nameOf),
    explained: most.delta.toString(),
  };
}
