import type { NewestCalls } from "../../../core/metering/attribution/newest-calls.ts";
import type { CostSplit } from "../../../core/pricing/cost-split.ts";
import type { RepeatSearch } from "../../../core/pricing/savings/answer-savings.ts";
import type { SamePromptCall } from "../../../core/pricing/savings/same-prompt.ts";
import type { UsageData } from "../../../core/pricing/view/usage-answer.ts";
import type { UsagePlan } from "../../../core/pricing/view/usage-plan.ts";
import type { UsageQuery } from "../../../core/pricing/view/usage-query.ts";
import type { TokenSums } from "../../../core/pricing/view/usage-sums.ts";
import type { BillingMode, CostSource } from "../../../core/values/record.ts";
import type { Millis } from "../../../core/values/time.ts";
import type { DayZone, Period, Turn } from "./values.ts";

/** The lengths of time by which a report can group. */
export const TIME_UNITS = ["hour", "day", "week", "month"] as const;
export type TimeUnit = (typeof TIME_UNITS)[number];

/** The columns by which a report can group. `pr` is the number of the pull request. */
export const REPORT_COLUMNS = [
  "project",
  "model",
  "provider",
  "client",
  "client-version",
  "session",
  "agent",
  "branch",
  "commit",
  "pr",
  "machine",
  "billing",
] as const;
export type ReportColumn = (typeof REPORT_COLUMNS)[number];

/** The dimension of a report's rows. `total` has one row. */
export type ReportGrouping = ReportColumn | TimeUnit | "total";

/** A report and its filters. A filter that is absent matches every request. */
export interface ReportQuery extends Period {
  by: ReportGrouping;
  /** A second dimension. At most one of the two is a time. */
  and?: ReportColumn | TimeUnit;
  project?: string;
  model?: string;
  provider?: string;
  /** The Git remote, as host and path. */
  remote?: string;
  branch?: string;
  /** The commit's id or its beginning, in lower-case hex. */
  commit?: string;
  pullRequest?: number;
  /** The session's whole id. */
  session?: string;
  /** The time zone of hours, days, weeks and months. Default: `local`. */
  days?: DayZone;
}

/** The period and the filters of a report. */
export type ReportFilters = Omit<ReportQuery, "by" | "and" | "days">;

/** The requests with one `cost_source` or one billing mode, and their cost. */
export interface SourceShare {
  requests: number;
  costPicoUsd: bigint;
}

/** One row of a report. Sums are exact. */
export interface ReportRow {
  /** The value of the column, or the name of a time bucket. Null if the value is unknown, for `machine` and for the total. */
  key: string | null;
  /** The value of the second dimension, if there is one. */
  second?: string | null;
  requests: number;
  errors: number;
  /** Refused by a budget. They are in `requests`. */
  blocked: number;
  /** Requests without a cost, which `costPicoUsd` lacks. Requests that failed without usage are not among them. */
  unpriced: number;
  /** Requests whose tokens are missing or were cut off. */
  incomplete: number;
  tokens: TokenSums;
  /** The cost of all requests with any billing. `split` separates what was spent from plan usage. */
  costPicoUsd: bigint;
  split: CostSplit;
  bySource: Readonly<Record<CostSource, SourceShare>>;
  byBilling: Readonly<Record<BillingMode, SourceShare>>;
}

/** The period of statistics: half-open, `[from, to)`. */
export interface StatisticsQuery {
  from: Millis;
  to: Millis;
  days: DayZone;
}

/** The row of a model; `key` is the model. */
export interface ModelRow extends ReportRow {
  provider: string;
}

/** A period by day, project and model. Days are in order, projects and models by falling cost. */
export interface Statistics {
  total: ReportRow;
  days: ReportRow[];
  projects: ReportRow[];
  models: ModelRow[];
}

/** The streams of one program that ended in order and stated no usage, because the requests did not ask for it. */
export interface StreamsWithoutUsage {
  /** The program; null if it is unknown. */
  client: string | null;
  requests: number;
}

/** The requests of one model without a cost whose tokens are known. */
export interface UnpricedModel {
  provider: string;
  model: string;
  requests: number;
  /** The id of the latest of them. */
  lastRequestId: string;
}

/** The dimensions of a usage query. */
export type UsageGrouping = Pick<UsageQuery, "by" | "thenBy">;

/** Sums over requests. */
export interface ReportStore {
  /**
   * Reads sums by group, without a limit. Times are in order, all others by falling cost; with two dimensions, by the first, then
   * by the second. Groups without requests have no row.
   */
  read(query: ReportQuery): Promise<ReportRow[]>;
  /** Reads several reports of one period from one snapshot. */
  readEach(groupings: readonly (ReportColumn | "total")[], query: ReportFilters): Promise<ReportRow[][]>;
  /** Sums the requests that were imported from logs of agents. */
  readFromLogs(query: Omit<ReportQuery, "by" | "days">): Promise<SourceShare>;
  /** Counts the streams for which `isStreamWithoutUsage()` is true, by program, most first. */
  readStreamsWithoutUsage(query: Omit<ReportQuery, "by" | "days">): Promise<StreamsWithoutUsage[]>;
  /** Reads the models of unpriced requests whose tokens are known, most requests first, at most `limit`. */
  readUnpricedModels(query: Omit<ReportQuery, "by" | "days">, limit: number): Promise<UnpricedModel[]>;
  /** Reads sums in slices, with `turn` in between, since the daemon reads them on the thread that also meters. */
  readStatistics(query: StatisticsQuery, turn: Turn): Promise<Statistics>;
  /** Reads the sums of a usage query, in slices as well. Each slice gives its groups and its buckets from one snapshot. */
  readUsage(plan: UsagePlan, turn: Turn): Promise<Omit<UsageData, "coverage">>;
  /** Reads the sums of a plan by several groupings in place of its own. It takes about as long as one of them. */
  readUsageEach(
    plan: UsagePlan,
    groupings: readonly UsageGrouping[],
    turn: Turn,
  ): Promise<Omit<UsageData, "coverage">[]>;
  /**
   * Searches the newest requests of a plan's period and filters for repeated prompts, at most `limit`, in slices as well. Requests that
   * failed, or that a plan covers, do not count.
   */
  findRepeats(plan: UsagePlan, limit: number, turn: Turn): Promise<RepeatSearch>;
  /** Finds the calls with a prompt among the `limit` before a call, with the call itself, and the `limit` after it, in no order. */
  findSamePrompt(
    call: { readonly requestedAt: Millis; readonly promptHash: string },
    limit: number,
  ): Promise<SamePromptCall[]>;
  /** Reads the newest calls of a plan's period, at most `limit`, and of these those that match its filters. */
  readNewestCalls(plan: Pick<UsagePlan, "query" | "period">, limit: number): Promise<NewestCalls>;
  /** Returns when each project was last requested in the period. */
  readLastRequests(period: Pick<StatisticsQuery, "from" | "to">): Promise<ReadonlyMap<string, Millis>>;
}
