import type { StoreConnections } from "./connections.ts";
import { readNewestCalls } from "./newest-calls.ts";
import {
  type ReportColumn,
  type ReportFilters,
  type ReportGrouping,
  type ReportQuery,
  type ReportRow,
  type ReportStore,
  type SourceShare,
  type StreamsWithoutUsage,
  TIME_UNITS,
  type TimeUnit,
  type UnpricedModel,
} from "./port/reports.ts";
import { readUsage, readUsageEach } from "./read-usage.ts";
import { findRepeats, findSamePrompt } from "./repeats.ts";
import { byCost, sumRows, toReportRows } from "./report-rows.ts";
import { lastInstant } from "./request-rows.ts";
import { readStatistics } from "./statistics.ts";
import {
  findLatest,
  findLatestByColumn,
  inUsageSnapshot,
  partsOfQuery,
  sumByBucket,
  sumPart,
  type UsageSnapshot,
} from "./usage-parts.ts";
import type { Span, SumQuery, SumRow, UsageColumn } from "./usage-sums.ts";

const isTimeUnit = (grouping: ReportGrouping | undefined): grouping is TimeUnit =>
  (TIME_UNITS as readonly (string | undefined)[]).includes(grouping);

/** The columns of the groupings. All records are of this machine, so `machine` has none. */
const COLUMNS: Readonly<Record<ReportColumn, UsageColumn | null>> = {
  project: "project",
  model: "model",
  provider: "provider",
  client: "client",
  billing: "billing_mode",
  session: "session_id",
  agent: "agent_id",
  "client-version": "client_version",
  branch: "git_branch",
  commit: "git_commit",
  pr: "pull_request",
  machine: null,
};

/** Returns the columns of the groupings that are columns. */
const columnsOf = (...groupings: readonly (ReportGrouping | undefined)[]): UsageColumn[] =>
  groupings.flatMap((grouping) => {
    const column =
      grouping === undefined || grouping === "total" || isTimeUnit(grouping) ? null : COLUMNS[grouping];
    return column === null ? [] : [column];
  });

/** Implements `ReportStore`. Each report is read from one snapshot. */
export function createReportStore({ reads }: Pick<StoreConnections, "reads">): ReportStore {
  return {
    read: async (query) => inUsageSnapshot(reads, (usage) => readReport(usage, query)),
    readEach: async (groupings, filters) =>
      inUsageSnapshot(reads, (usage) =>
        // Each on its own: whole days have sums by one column, which take less time than the sums of series by all columns.
        groupings.map((by) => readReport(usage, { ...filters, by })),
      ),
    readFromLogs: async (filters) => inUsageSnapshot(reads, (usage) => readFromLogs(usage, filters)),
    readStreamsWithoutUsage: async (filters) =>
      inUsageSnapshot(reads, (usage) => readStreamsWithoutUsage(usage, filters)),
    readUnpricedModels: async (filters, limit) =>
      inUsageSnapshot(reads, (usage) => readUnpricedModels(usage, filters, limit)),
    readStatistics: (query, turn) => readStatistics(reads, query, turn),
    readUsage: (plan, turn) => readUsage(reads, plan, turn),
    readUsageEach: (plan, groupings, turn) => readUsageEach(reads, plan, groupings, turn),
    findRepeats: (plan, limit, turn) => findRepeats(reads, plan, limit, turn),
    findSamePrompt: async (call, limit) => findSamePrompt(reads, call, limit),
    readNewestCalls: async (plan, limit) => readNewestCalls(reads, plan, limit),
    readLastRequests: async (period) =>
      inUsageSnapshot(
        reads,
        (usage) =>
          new Map(findLatestByColumn(usage, period, "project").map(([project, at]) => [project ?? "", at])),
      ),
  };
}

const spanOf = ({ from, to }: ReportFilters): Span => ({
  from: from ?? Number.NEGATIVE_INFINITY,
  to: to ?? Number.POSITIVE_INFINITY,
});

const filtersOf = (filters: ReportFilters): SumQuery["filters"] => ({
  project: filters.project,
  model: filters.model,
  provider: filters.provider,
  git_remote: filters.remote,
  git_branch: filters.branch,
  git_commit: filters.commit,
  pull_request: filters.pullRequest?.toString(),
  session_id: filters.session,
});

function readReport(usage: UsageSnapshot, query: ReportQuery): ReportRow[] {
  const { by, and } = query;
  const unit = [by, and].find(isTimeUnit);
  if (unit === undefined) {
    const rows = toReportRows(sumSpan(usage, query, columnsOf(by, and)), columnsOf(by)[0], columnsOf(and)[0]);
    return and === undefined ? rows.sort(byCost) : sortByFirstKey(rows.sort(byCost));
  }
  const rows = readByTime(usage, query, unit);
  return by === unit ? rows : sortByFirstKey(rows);
}

/** Reads the sums by group, cost source and billing mode. */
function sumSpan(
  usage: UsageSnapshot,
  filters: ReportFilters,
  columns: readonly UsageColumn[],
  only?: SumQuery["only"],
): SumRow[] {
  const query: SumQuery = { columns, filters: filtersOf(filters), ...(only !== undefined && { only }) };
  return partsOfQuery(usage, spanOf(filters), query).flatMap((part) => sumPart(usage, part, query));
}

function readByTime(usage: UsageSnapshot, query: ReportQuery, unit: TimeUnit): ReportRow[] {
  const span = spanOf(query);
  const end = { from: Math.max(span.from, 0), to: Math.min(span.to, lastInstant + 1) };
  const columns = columnsOf(query.by, query.and);
  const sumQuery = { columns, filters: filtersOf(query) };
  return sumByBucket(usage, end, sumQuery, unit, query.days ?? "local").flatMap((bucket) => {
    const rows: ReportRow[] = toReportRows(bucket.rows, columns[0]).sort(byCost);
    if (query.and === undefined) return rows.map((row): ReportRow => ({ ...row, key: bucket.key }));
    return rows.map((row): ReportRow => {
      const [key, second] = query.by === unit ? [bucket.key, row.key] : [row.key, bucket.key];
      return { ...row, key, second };
    });
  });
}

/** Sorts by the whole cost of the first key, and keeps the order of rows with the same first key. */
function sortByFirstKey(rows: readonly ReportRow[]): ReportRow[] {
  return [...Map.groupBy(rows, ({ key }) => key)]
    .map(([key, own]) => ({ own, sum: sumRows(own, key) }))
    .sort((one, other) => byCost(one.sum, other.sum))
    .flatMap(({ own }) => own);
}

function readFromLogs(usage: UsageSnapshot, filters: ReportFilters): SourceShare {
  const { connection } = usage;
  const hasAny = connection.prepare("SELECT 1 FROM requests WHERE record_source = 'logs' LIMIT 1").get([]);
  if (hasAny === null) return { requests: 0, costPicoUsd: 0n };
  const query: SumQuery = { columns: [], filters: { ...filtersOf(filters), record_source: "logs" } };
  const parts = partsOfQuery(usage, spanOf(filters), query);
  const sums = parts.flatMap((part) => sumPart(usage, part, query));
  const { requests, costPicoUsd } = sumRows(toReportRows(sums, undefined));
  return { requests, costPicoUsd };
}

const byText = (one: string, other: string) => (one < other ? -1 : one === other ? 0 : 1);

function readStreamsWithoutUsage(usage: UsageSnapshot, filters: ReportFilters): StreamsWithoutUsage[] {
  const rows = toReportRows(sumSpan(usage, filters, ["client"], "streams_without_usage"), "client");
  return rows
    .map(({ key, requests }) => ({ client: key, requests }))
    .sort((one, other) => other.requests - one.requests || byText(one.client ?? "", other.client ?? ""));
}

function readUnpricedModels(usage: UsageSnapshot, filters: ReportFilters, limit: number): UnpricedModel[] {
  const columns = ["provider", "model"] as const;
  const rows = toReportRows(sumSpan(usage, filters, columns, "unpriced_with_tokens"), ...columns);
  return rows
    .map(({ key, second, requests }) => ({ provider: key ?? "", model: second ?? "", requests }))
    .sort(
      (one, other) =>
        other.requests - one.requests ||
        byText(one.provider, other.provider) ||
        byText(one.model, other.model),
    )
    .slice(0, limit)
    .map((row) => {
      const only = "unpriced_with_tokens";
      const wanted = { ...filtersOf(filters), provider: row.provider, model: row.model };
      const latest = findLatest(usage, spanOf(filters), { columns: [], filters: wanted, only });
      return { ...row, lastRequestId: latest?.requestId ?? "" };
    });
}
