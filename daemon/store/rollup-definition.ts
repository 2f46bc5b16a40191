import { APIS_WITH_OPTIONAL_USAGE } from "../../core/metering/estimate/stream-usage.ts";
import { UNPRICED_SQL } from "../../core/pricing/unpriced.ts";
import { EFFECTIVE_BILLING_SQL } from "../../core/values/billing.ts";
import { PEAK_DEFINITION } from "./request-peaks.ts";

/** The length of a slot in milliseconds: the hours and days of every time zone begin on a quarter of an hour. */
export const SLOT_MS = 15 * 60_000;

/** The columns that hold token counts. The position is the bit of `stated`. */
export const TOKEN_COLUMNS = [
  "prompt_tokens",
  "cache_read_tokens",
  "cache_write_tokens",
  "cache_write_1h_tokens",
  "completion_tokens",
  "thinking_tokens",
] as const;

/** A column that holds a token count. */
export type TokenColumn = (typeof TOKEN_COLUMNS)[number];

/**
 * Costs are summed in two halves: 64 bits hold only 9.2 million USD in pico-USD, and SQLite's `sum()` fails beyond.
 */
export const COST_HALF = 1_000_000_000n;

const apis = APIS_WITH_OPTIONAL_USAGE.map((api) => `'${api}'`).join(", ");

/**
 * The columns of a series, each with its SQL over `requests`. Requests that agree in all of them are in one series, and a slot has
 * one row of sums for each series. So whatever is counted by a condition on a request (failed, unpriced, incomplete, …) must be
 * decided by these columns.
 *
 * To add a dimension, add its line and a migration with the column of `usage_series`; existing rollups are then built again.
 */
export const SERIES_COLUMNS = {
  project: "project",
  provider: "provider",
  model: "model",
  client: "client",
  git_remote: "git_remote",
  git_branch: "git_branch",
  pull_request: "CAST(pull_request AS TEXT)",
  record_source: "coalesce(record_source, 'wire')",
  billing_mode: EFFECTIVE_BILLING_SQL,
  error_class: "error_class",
  http_status: "http_status",
  cost_source: "cost_source",
  /** Refused by a budget. */
  blocked: "blocked_by IS NOT NULL",
  incomplete: "tokens_complete = 0",
  unpriced: UNPRICED_SQL,
  /** The condition is that of `isStreamWithoutUsage()`. */
  stream_without_usage: `api IN (${apis}) AND streaming = 1 AND tokens_complete = 0 AND error_class IS NULL
    AND prompt_tokens IS NULL AND completion_tokens IS NULL`,
  /** One bit for each token count that is known, so that the sum of unknown counts is unknown and not 0. */
  stated: TOKEN_COLUMNS.map((column, bit) => `((${column} IS NOT NULL) << ${bit})`).join(" | "),
} as const satisfies Readonly<Record<string, string>>;

/** A column of a series. */
export type SeriesColumn = keyof typeof SERIES_COLUMNS;

/**
 * Columns of requests that reports can group and filter by, but that are not in the rollups: with their many values, a slot would
 * have nearly as many rows of sums as requests.
 */
export const REQUEST_COLUMNS = {
  git_commit: "git_commit",
  session_id: "session_id",
  agent_id: "agent_id",
  client_version: "client_version",
  request_kind: "request_kind",
} as const satisfies Readonly<Record<string, string>>;

/** A column that only requests have. */
export type RequestColumn = keyof typeof REQUEST_COLUMNS;

/** The sums of a series in a slot, each with its aggregate over `requests`. */
export const ROLLUP_SUMS: Readonly<Record<string, string>> = {
  requests: "count(*)",
  ...Object.fromEntries(TOKEN_COLUMNS.map((column) => [column, `coalesce(sum(${column}), 0)`])),
  cost_high: `coalesce(sum(cost_pico_usd / ${COST_HALF}), 0)`,
  cost_low: `coalesce(sum(cost_pico_usd % ${COST_HALF}), 0)`,
};

/** The names of the sums. */
export const sumColumns = Object.keys(ROLLUP_SUMS);

/**
 * The columns of which whole hours and whole days have sums by value, each column alone: what pages group by first. Such sums have a
 * tenth of the rows of the series. The empty name stands for the sums of all requests.
 */
export const VALUE_COLUMNS = ["", "project", "provider", "model", "client"] as const satisfies readonly (
  | SeriesColumn
  | ""
)[];

/** A column with sums by value; empty for all requests. */
export type ValueColumn = (typeof VALUE_COLUMNS)[number];

/** The counts of requests in the sums by value. */
export const VALUE_COUNTS = [
  "requests",
  "failed_requests",
  "blocked_requests",
  "unpriced_requests",
  "incomplete_requests",
] as const;

/** The sums of the coverage of a whole day. */
const COVERAGE_DAY = ["sum(count)", "max(slot)"];

/**
 * Identifies what the rollups contain. Rollups of another definition are not read, and the daemon builds them again: so a new
 * column, or a changed rule for the billing mode of older records, needs no further step.
 */
export const ROLLUP_DEFINITION = JSON.stringify([
  SLOT_MS,
  SERIES_COLUMNS,
  ROLLUP_SUMS,
  VALUE_COLUMNS,
  VALUE_COUNTS,
  COVERAGE_DAY,
  PEAK_DEFINITION,
]);
