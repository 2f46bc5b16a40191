import { BILLING_MODES, REQUEST_KINDS } from "../../values/record-fields.ts";
import { findZone } from "../../values/zone.ts";
import { isStorableText } from "../../wire/characters.ts";
import {
  USAGE_BUCKETS,
  USAGE_COMPARISONS,
  USAGE_COSTS,
  USAGE_DIMENSIONS,
  USAGE_METRICS,
  USAGE_PERIODS,
  USAGE_STATUSES,
  USAGE_TOKENS,
  type UsageBucket,
  type UsageComparison,
  type UsageDimension,
  type UsageMetric,
  type UsagePeriodName,
} from "../../wire/usage.ts";

/** Requests whose dimension has one of the values, or none of them. The empty value means that the dimension is unknown. */
export interface UsageFilter {
  readonly dimension: UsageDimension;
  readonly not: boolean;
  readonly values: readonly string[];
}

/** A query of usage. It holds the whole state of a page. */
export interface UsageQuery {
  /** A named period, or its bounds: dates of the zone, or instants. `to` is exclusive; null is now. */
  readonly period: UsagePeriodName | { readonly from: string; readonly to: string | null };
  /** An IANA name; null is the host's own zone. */
  readonly tz: string | null;
  readonly compare: UsageComparison;
  readonly metric: UsageMetric;
  readonly by: UsageDimension | null;
  /** The second dimension: `then` in the URL. */
  readonly thenBy: UsageDimension | null;
  readonly bucket: UsageBucket | "auto";
  /** How many values of a dimension are shown. The rest is summed up as "Other". */
  readonly top: number;
  /** In the order of the dimensions, values sorted. All of them must hold. */
  readonly filters: readonly UsageFilter[];
}

/** What an empty query asks. */
export const DEFAULT_USAGE_QUERY: UsageQuery = {
  period: "30d",
  tz: null,
  compare: "prev",
  metric: "spent",
  by: null,
  thenBy: null,
  bucket: "auto",
  top: 6,
  filters: [],
};

/** The most values of a dimension that are shown. */
export const MAX_USAGE_TOP = 1_000;

/** The longest filter value, which is the longest stored name, and how many values all filters may have. */
const MAX_VALUE = 256;
const MAX_VALUES = 100;

/** The problem with a text that no store holds. */
export const UNSTORABLE_TEXT = "U+0000 and unpaired surrogates are not stored.";

/** A key of the query that was not used, with the reason. */
export interface UsageNotice {
  readonly key: string;
  readonly problem: string;
}

/** The dimensions with few values. Another value in a filter is a mistake. */
const VALUES: Readonly<Partial<Record<UsageDimension, readonly string[]>>> = {
  status: USAGE_STATUSES,
  cost: USAGE_COSTS,
  tokens: USAGE_TOKENS,
  billing: BILLING_MODES,
  source: ["wire", "logs"],
  kind: REQUEST_KINDS,
};

/** Parses one parameter. Returns the part of the query, or the problem. */
type ParseParameter = (text: string) => Partial<UsageQuery> | string;

const oneOf =
  <Key extends keyof UsageQuery, Value extends string>(key: Key, values: readonly Value[]): ParseParameter =>
  (text) => {
    const found = values.find((each) => each === text);
    return found === undefined ? `Expected ${values.join(", ")}.` : { [key]: found };
  };

const PARAMETERS: ReadonlyMap<string, ParseParameter> = new Map<string, ParseParameter>([
  ["period", oneOf("period", USAGE_PERIODS)],
  [
    "tz",
    (text) =>
      findZone(text) === null ? "Expected the name of a time zone, such as Europe/Berlin." : { tz: text },
  ],
  ["compare", oneOf("compare", USAGE_COMPARISONS)],
  ["metric", oneOf("metric", USAGE_METRICS)],
  ["by", oneOf("by", USAGE_DIMENSIONS)],
  ["then", oneOf("thenBy", USAGE_DIMENSIONS)],
  ["bucket", oneOf("bucket", ["auto", ...USAGE_BUCKETS])],
  [
    "top",
    (text) =>
      /^[1-9]\d{0,3}$/.test(text) && Number(text) <= MAX_USAGE_TOP
        ? { top: Number(text) }
        : `Expected a number from 1 to ${MAX_USAGE_TOP}.`,
  ],
]);

/** The parameters with one value, in the order in which they are printed, each with its part of the query. */
const PRINTED = [
  ["tz", "tz"],
  ["compare", "compare"],
  ["metric", "metric"],
  ["by", "by"],
  ["then", "thenBy"],
  ["bucket", "bucket"],
  ["top", "top"],
] as const;

/** What a page adds to the query. */
export interface UsageQueryOptions {
  /** What the query asks where it says nothing. */
  readonly defaults?: UsageQuery;
  /** Keys that belong to the page itself. */
  readonly otherKeys?: readonly string[];
}

/** Parses the parameters of a URL. Whatever is unknown or invalid is not used, and has a notice. */
export function parseUsageQuery(
  parameters: Iterable<readonly [key: string, value: string]>,
  { defaults = DEFAULT_USAGE_QUERY, otherKeys = [] }: UsageQueryOptions = {},
): { readonly query: UsageQuery; readonly notices: readonly UsageNotice[] } {
  const notices: UsageNotice[] = [];
  const given = new Map<string, string>();
  const filters = new Map<string, Set<string>>();
  let values = 0;
  for (const [key, text] of parameters) {
    if (otherKeys.includes(key)) continue;
    const dimension = dimensionOf(key);
    if (dimension !== null) {
      values += 1;
      const problem = findFilterProblem(dimension, text, values);
      if (problem !== null) notices.push({ key, problem });
      else filters.set(key, (filters.get(key) ?? new Set()).add(text));
    } else if (!PARAMETERS.has(key) && key !== "from" && key !== "to")
      notices.push({ key, problem: "There is no such parameter." });
    else if (given.has(key)) notices.push({ key, problem: "Given more than once." });
    else given.set(key, text);
  }
  let query = defaults;
  for (const [key, text] of given) {
    const parsed = PARAMETERS.get(key)?.(text) ?? {};
    if (typeof parsed === "string") notices.push({ key, problem: parsed });
    else query = { ...query, ...parsed };
  }
  query = { ...query, ...readBounds(given, notices) };
  if (filters.size > 0) query = { ...query, filters: toFilters(filters) };
  if (query.thenBy !== null && (query.by === null || query.by === query.thenBy)) {
    if (given.has("then"))
      notices.push({ key: "then", problem: "Expected a second dimension besides `by`." });
    query = { ...query, thenBy: null };
  }
  return { query, notices };
}

/** Returns the dimension that a key filters by, or null if it is none. */
function dimensionOf(key: string): UsageDimension | null {
  const name = key.endsWith(".not") ? key.slice(0, -".not".length) : key;
  return USAGE_DIMENSIONS.find((each) => each === name) ?? null;
}

function findFilterProblem(dimension: UsageDimension, text: string, values: number): string | null {
  if (values > MAX_VALUES) return `At most ${MAX_VALUES} values can be filtered by.`;
  if (text.length > MAX_VALUE) return `At most ${MAX_VALUE} characters.`;
  if (!isStorableText(text)) return UNSTORABLE_TEXT;
  const known = VALUES[dimension];
  return known === undefined || known.includes(text) ? null : `Expected ${known.join(", ")}.`;
}

function toFilters(given: ReadonlyMap<string, ReadonlySet<string>>): UsageFilter[] {
  return USAGE_DIMENSIONS.flatMap((dimension) =>
    [false, true].flatMap((not): UsageFilter[] => {
      const values = given.get(not ? `${dimension}.not` : dimension);
      return values === undefined ? [] : [{ dimension, not, values: [...values].sort() }];
    }),
  );
}

function readBounds(
  given: ReadonlyMap<string, string>,
  notices: UsageNotice[],
): Pick<UsageQuery, "period"> | Record<string, never> {
  const [from, to] = [given.get("from"), given.get("to")];
  if (from === undefined) {
    if (to !== undefined) notices.push({ key: "to", problem: "Expected `from` as well." });
    return {};
  }
  if (given.has("period")) notices.push({ key: "period", problem: "Expected either `period` or `from`." });
  return { period: { from, to: to ?? null } };
}

/** Prints a query as the query string of a URL, without what equals the defaults. The inverse of `parseUsageQuery()`. */
export function printUsageQuery(query: UsageQuery, defaults: UsageQuery = DEFAULT_USAGE_QUERY): string {
  const pairs: [string, string][] = [];
  const { period } = query;
  if (typeof period !== "string") {
    pairs.push(["from", period.from]);
    if (period.to !== null) pairs.push(["to", period.to]);
  } else if (period !== defaults.period) pairs.push(["period", period]);
  for (const [key, part] of PRINTED) {
    const value = query[part];
    if (value !== null && value !== defaults[part]) pairs.push([key, `${value}`]);
  }
  for (const { dimension, not, values } of query.filters)
    for (const value of values) pairs.push([not ? `${dimension}.not` : dimension, value]);
  return pairs.map(([key, value]) => `${key}=${encodeURIComponent(value.toWellFormed())}`).join("&");
}

/** Returns the query with exactly this value of a dimension: what a click on the value opens. */
export function withFilter(query: UsageQuery, dimension: UsageDimension, value: string | null): UsageQuery {
  const others = query.filters.filter((filter) => filter.dimension !== dimension || filter.not);
  const filters = [...others, { dimension, not: false, values: [value ?? ""] }];
  const order = (filter: UsageFilter) =>
    USAGE_DIMENSIONS.indexOf(filter.dimension) * 2 + (filter.not ? 1 : 0);
  return { ...query, filters: filters.sort((one, other) => order(one) - order(other)) };
}

/** Returns the query without a filter. */
export function withoutFilter(query: UsageQuery, dimension: UsageDimension, not: boolean): UsageQuery {
  const filters = query.filters.filter((filter) => filter.dimension !== dimension || filter.not !== not);
  return { ...query, filters };
}
