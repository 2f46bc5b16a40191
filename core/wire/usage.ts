import * as v from "valibot";
import { costSum, count, instant, maybe } from "./fields.ts";

/** The dimensions of usage. A daemon has no `machine` and `person`: all of its requests are of one machine. */
export const USAGE_DIMENSIONS = [
  "project",
  "branch",
  "model",
  "provider",
  "client",
  "client_version",
  "session",
  "agent",
  "commit",
  "remote",
  "pull_request",
  "status",
  "http_status",
  "error",
  "billing",
  "cost",
  "tokens",
  "source",
  "kind",
  "machine",
  "person",
] as const;
export type UsageDimension = (typeof USAGE_DIMENSIONS)[number];

/** The values of `status`. `blocked`: a budget refused the call, which was not sent. */
export const USAGE_STATUSES = ["ok", "failed", "blocked"] as const;

/** The values of `cost`: how it is known. `none`: the call failed and used nothing. */
export const USAGE_COSTS = ["computed", "provider", "estimated", "unpriced", "none"] as const;

/** The values of `tokens`: whether the provider stated them in full. */
export const USAGE_TOKENS = ["complete", "incomplete"] as const;

/**
 * What a chart shows, and what rows are sorted by. There is none for the whole cost: what was spent and what plans covered are
 * never added up.
 */
export const USAGE_METRICS = [
  "spent",
  "plan_usage",
  "unknown_billing",
  "requests",
  "failed_requests",
  "tokens",
  "input_tokens",
  "cache_read_tokens",
  "cache_write_tokens",
  "output_tokens",
] as const;
export type UsageMetric = (typeof USAGE_METRICS)[number];

/** The lengths of a bucket. `none`: the answer has no buckets. */
export const USAGE_BUCKETS = ["none", "15m", "hour", "day", "week", "month"] as const;
export type UsageBucket = (typeof USAGE_BUCKETS)[number];

/** The periods that have a name. */
export const USAGE_PERIODS = ["today", "7d", "30d", "90d", "mtd", "month", "12m"] as const;
export type UsagePeriodName = (typeof USAGE_PERIODS)[number];

/** What a period is compared with. Both are moved by whole weeks, so that weekdays match. */
export const USAGE_COMPARISONS = ["prev", "year", "none"] as const;
export type UsageComparison = (typeof USAGE_COMPARISONS)[number];

const parameter = maybe(v.string());

/** The parameters of a usage query, as texts. `parseUsageQuery()` in `core/pricing/view` reads them, with repeated filters. */
export const usageQuerySchema = v.object({
  period: parameter,
  from: parameter,
  to: parameter,
  tz: parameter,
  compare: parameter,
  metric: parameter,
  by: parameter,
  // biome-ignore lint/suspicious/noThenProperty: the name of the parameter.
  then: parameter,
  bucket: parameter,
  top: parameter,
  format: parameter,
  project: parameter,
  model: parameter,
  provider: parameter,
  machine: parameter,
  person: parameter,
});

/** The same with a dimension, and a text that its values contain. */
export const usageValuesQuerySchema = v.object({
  ...usageQuerySchema.entries,
  dimension: v.string(),
  q: parameter,
});

/** The sums of a group of requests. A token count is null if no request stated it. */
export const usageSumsSchema = v.object({
  requests: count,
  failed_requests: count,
  /** Calls that a budget refused. They are in `requests`, and did not fail. Absent from answers of older versions. */
  blocked_requests: maybe(count),
  /** Requests without a known rate. Their cost is in no sum. */
  unpriced_requests: count,
  /** Requests whose usage the provider did not state in full. */
  incomplete_requests: count,
  /** Requests whose cost is computed from estimated token counts. Null where it was not counted: in a cloud's sums by hour. */
  estimated_requests: v.nullable(count),
  /** Requests of which it is unknown who pays. Null as well where it was not counted. */
  unknown_billing_requests: v.nullable(count),
  /** Input tokens that were neither read from a cache nor written to one. */
  prompt_tokens: v.nullable(count),
  cache_read_tokens: v.nullable(count),
  cache_write_tokens: v.nullable(count),
  /** Included in `cache_write_tokens`. */
  cache_write_1h_tokens: v.nullable(count),
  completion_tokens: v.nullable(count),
  thinking_tokens: v.nullable(count),
  /** Billed by usage. */
  spent_pico_usd: costSum,
  /** Covered by plans, at API prices. Never part of what was spent. */
  plan_usage_pico_usd: costSum,
  /** Of which it is unknown who pays. */
  unknown_billing_pico_usd: costSum,
});
export type UsageSumsJson = v.InferOutput<typeof usageSumsSchema>;

/** A value of a dimension. `key` is null if the value is unknown, and for the values that are not among the top ones. */
const value = {
  key: v.nullable(v.string()),
  label: v.string(),
  /** How many values are summed up as "Other"; null for a single value. */
  other_values: v.nullable(count),
  totals: usageSumsSchema,
  /** The same values in the compared period; null without a comparison. */
  compared: v.nullable(usageSumsSchema),
};

/** The metric's value in each bucket, as a decimal integer; null if it is unknown. */
const series = v.array(v.nullable(v.string()));

const row = v.object({
  ...value,
  /** By the second dimension; empty without one. A value without requests in this row is left out. */
  cells: v.array(v.object(value)),
  /** Empty without buckets. */
  series,
});

const span = {
  from: instant,
  /** Exclusive. */
  to: instant,
  /** The period in words, without its zone. */
  label: v.string(),
};

/** A bucket. The first and the last are cut where the period begins and ends. */
const bucket = v.object({
  from: instant,
  to: instant,
  label: v.string(),
  totals: usageSumsSchema,
  /** For how long no meter ran, in milliseconds; null if it is not known. */
  stopped_ms: maybe(count),
});

/** A difference between the two periods, and the value that explains most of it. */
const change = v.object({
  /** The change of the metric, as a decimal integer. */
  delta: v.string(),
  key: v.nullable(v.string()),
  label: v.string(),
  /** The change of this value. */
  explained: v.string(),
});

/** Something that a reader of a total must know. */
const caveat = v.object({
  kind: v.picklist([
    "unpriced",
    "incomplete",
    "estimated",
    "unknown_billing",
    "not_metered",
    "unknown_coverage",
    "clamped",
  ]),
  /** How many requests it concerns. For `not_metered` it counts calls, for `unknown_coverage` machines. */
  requests: count,
  sentence: v.string(),
  /** The query string that shows these requests in the same period, with the same filters; null if there are none to show. */
  query: v.nullable(v.string()),
});

/** The response of `GET /v1/usage` and `GET /v1/workspaces/{ws}/usage`. */
export const usageAnswerSchema = v.object({
  /** The query in its shortest form, without defaults. */
  query: v.string(),
  /** The zone of days and buckets. */
  tz: v.string(),
  period: v.object(span),
  compared_period: v.nullable(v.object(span)),
  metric: v.picklist(USAGE_METRICS),
  by: v.nullable(v.picklist(USAGE_DIMENSIONS)),
  then_by: v.nullable(v.picklist(USAGE_DIMENSIONS)),
  bucket: v.picklist(USAGE_BUCKETS),
  totals: usageSumsSchema,
  compared: v.nullable(usageSumsSchema),
  /** Sorted by the metric, highest first; the rest of the values is last. Empty without `by`. They add up to `totals`. */
  rows: v.array(row),
  /** The values of the second dimension over all rows, in the order of the columns. They add up to `totals`. */
  columns: v.array(v.object(value)),
  /** All buckets of the period, also those without requests. They add up to `totals`. */
  buckets: v.array(bucket),
  /** The metric in the compared period, by the bucket of the period that it belongs to. */
  compared_series: series,
  change: v.nullable(change),
  /** Of all calls in the period, whatever the filters; null if it is not known here. */
  coverage: v.nullable(
    v.object({
      metered: count,
      seen: count,
      /** In tenths of a percent, rounded down; null if nothing was seen. */
      permille: v.nullable(count),
      missing: v.array(v.object({ kind: v.string(), count })),
      /** How many machines had requests in the period but have an unknown coverage. 0 in the response of a daemon. */
      unknown_machines: maybe(count),
    }),
  ),
  caveats: v.array(caveat),
  /** Keys and values of the query that were not used, with the reason. Only pages show them: the API refuses such a query. */
  notices: v.array(v.object({ key: v.string(), problem: v.string() })),
});
export type UsageAnswer = v.InferOutput<typeof usageAnswerSchema>;

/** The response of `GET …/usage/values`: the values of a dimension in a period, most requests first. */
export const usageValuesSchema = v.object({
  dimension: v.picklist(USAGE_DIMENSIONS),
  items: v.array(v.object({ value: v.nullable(v.string()), label: v.string(), requests: count })),
  /** Whether there are more values. */
  more: v.boolean(),
});
export type UsageValues = v.InferOutput<typeof usageValuesSchema>;

/** The response of `GET …/usage/forecast`: an estimate of this month. */
export const usageForecastSchema = v.object({
  tz: v.string(),
  /** The month, `2026-11`. */
  month: v.string(),
  metric: v.picklist(USAGE_METRICS),
  /** The metric from the first of the month until now, as a decimal integer. */
  to_date: v.string(),
  /** The estimate of the whole month, with the range of nine tenths of the resampled months; null below 14 days of data. */
  estimate: v.nullable(v.object({ expected: v.string(), low: v.string(), high: v.string() })),
  /** How many whole days the estimate is made from. */
  days: count,
  /** The metric of today until now. */
  today: v.string(),
  /**
   * What is expected of each remaining day of the month: of today, which is the first one, what is still to come. With `to_date` it is
   * what is expected of the month. Empty below 14 days of data.
   */
  remaining: v.array(v.object({ date: v.string(), value: v.string() })),
});
export type UsageForecast = v.InferOutput<typeof usageForecastSchema>;
