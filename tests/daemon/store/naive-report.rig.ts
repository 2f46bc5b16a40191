import { isStreamWithoutUsage } from "../../../core/metering/estimate/stream-usage.ts";
import { SPLIT_PARTS } from "../../../core/pricing/cost-split.ts";
import { isUnpriced } from "../../../core/pricing/unpriced.ts";
import { effectiveBilling } from "../../../core/values/billing.ts";
import type { RequestRecord } from "../../../core/values/record.ts";
import {
  type ReportColumn,
  type ReportGrouping,
  type ReportQuery,
  type ReportRow,
  TIME_UNITS,
  type TimeUnit,
} from "../../../daemon/store/port/reports.ts";
import { bucketOf } from "../../../daemon/store/time-buckets.ts";

type Filters = Omit<ReportQuery, "by" | "and" | "days">;

/** The records of a report. */
export const selectRecords = <Each extends RequestRecord>(
  records: readonly Each[],
  { from, to, project, model, provider, remote, branch, commit, pullRequest, session }: Filters,
): Each[] =>
  records.filter(
    (record) =>
      record.requestedAt >= (from ?? 0) &&
      record.requestedAt < (to ?? Number.POSITIVE_INFINITY) &&
      (project === undefined || record.project === project) &&
      (model === undefined || record.model === model) &&
      (provider === undefined || record.provider === provider) &&
      (remote === undefined || record.gitRemote === remote) &&
      (branch === undefined || record.gitBranch === branch) &&
      (commit === undefined || record.gitCommit?.startsWith(commit) === true) &&
      (pullRequest === undefined || record.pullRequest === pullRequest) &&
      (session === undefined || record.sessionId === session),
  );

const isTime = (grouping: ReportGrouping): grouping is TimeUnit =>
  TIME_UNITS.some((unit) => unit === grouping);

function keyOf(record: RequestRecord, grouping: ReportGrouping, days: ReportQuery["days"]): string | null {
  if (grouping === "total") return null;
  if (isTime(grouping)) return bucketOf(record.requestedAt, grouping, days ?? "local").key;
  const values: Record<ReportColumn, string | null> = {
    ...record,
    billing: effectiveBilling(record),
    client: record.client ?? null,
    "client-version": record.clientVersion,
    session: record.sessionId,
    agent: record.agentId,
    branch: record.gitBranch,
    commit: record.gitCommit,
    pr: record.pullRequest?.toString() ?? null,
    machine: null,
  };
  return values[grouping];
}

const share = (records: readonly RequestRecord[]) => ({
  requests: records.length,
  costPicoUsd: records.reduce((sum, { costPicoUsd }) => sum + (costPicoUsd ?? 0n), 0n),
});

function sumTokens(records: readonly RequestRecord[], name: keyof RequestRecord["tokens"]): bigint | null {
  const known = records.flatMap(({ tokens }) => (tokens[name] === null ? [] : [BigInt(tokens[name])]));
  return known.length === 0 ? null : known.reduce((sum, count) => sum + count, 0n);
}

/** Returns the row of these records, computed from each of them in the simplest way. */
export function naiveRow(records: readonly RequestRecord[], key: string | null): ReportRow {
  const cost = (part: string) =>
    share(records.filter((record) => SPLIT_PARTS[effectiveBilling(record)] === part)).costPicoUsd;
  const ofSource = (source: string) => share(records.filter(({ costSource }) => costSource === source));
  const ofBilling = (mode: string) => share(records.filter((record) => effectiveBilling(record) === mode));
  return {
    key,
    requests: records.length,
    errors: records.filter(({ errorClass }) => errorClass !== null).length,
    blocked: records.filter(({ blockedBy }) => blockedBy !== null).length,
    unpriced: records.filter(isUnpriced).length,
    incomplete: records.filter(({ tokensComplete }) => !tokensComplete).length,
    tokens: {
      prompt: sumTokens(records, "promptTokens"),
      cacheRead: sumTokens(records, "cacheReadTokens"),
      cacheWrite: sumTokens(records, "cacheWriteTokens"),
      cacheWrite1h: sumTokens(records, "cacheWrite1hTokens"),
      completion: sumTokens(records, "completionTokens"),
      thinking: sumTokens(records, "thinkingTokens"),
    },
    costPicoUsd: share(records).costPicoUsd,
    split: {
      spentPicoUsd: cost("spentPicoUsd"),
      planUsagePicoUsd: cost("planUsagePicoUsd"),
      unknownBillingPicoUsd: cost("unknownBillingPicoUsd"),
    },
    bySource: {
      computed: ofSource("computed"),
      provider: ofSource("provider"),
      estimated: ofSource("estimated"),
      unpriced: ofSource("unpriced"),
    },
    byBilling: {
      metered: ofBilling("metered"),
      plan: ofBilling("plan"),
      credits: ofBilling("credits"),
      free: ofBilling("free"),
      unknown: ofBilling("unknown"),
    },
  };
}

/** The rows of a report, in no particular order. */
export function naiveReport(records: readonly RequestRecord[], query: ReportQuery): ReportRow[] {
  const { by, and, days } = query;
  const groups = Map.groupBy(selectRecords(records, query), (record) =>
    JSON.stringify([keyOf(record, by, days), and === undefined ? null : keyOf(record, and, days)]),
  );
  return [...groups].map(([group, own]) => {
    const [key, second] = JSON.parse(group) as [string | null, string | null];
    return { ...naiveRow(own, key), ...(and !== undefined && { second }) };
  });
}

/** The streams without usage by program, in no particular order. */
export function naiveStreams(records: readonly RequestRecord[], filters: Filters) {
  const groups = Map.groupBy(
    selectRecords(records, filters).filter(isStreamWithoutUsage),
    ({ client }) => client ?? null,
  );
  return [...groups].map(([client, own]) => ({ client, requests: own.length }));
}

/** The models without a price whose tokens are known, in no particular order. */
export function naiveUnpriced(records: readonly RequestRecord[], filters: Filters) {
  const unpriced = selectRecords(records, filters).filter(
    ({ costPicoUsd, tokens }) => costPicoUsd === null && tokens.promptTokens !== null,
  );
  const groups = Map.groupBy(unpriced, ({ provider, model }) => JSON.stringify([provider, model]));
  return [...groups.values()].map((own) => {
    const [latest] = own.toSorted(
      (one, other) => other.requestedAt - one.requestedAt || (other.requestId > one.requestId ? 1 : -1),
    ) as [RequestRecord];
    const { provider, model, requestId } = latest;
    return { provider, model, requests: own.length, lastRequestId: requestId };
  });
}
