import assert from "node:assert/strict";
import process from "node:process";
import fc from "fast-check";
import { SPLIT_PARTS } from "../../../core/pricing/cost-split.ts";
import { isUnpriced } from "../../../core/pricing/unpriced.ts";
import { answerUsage, type UsageData } from "../../../core/pricing/view/usage-answer.ts";
import { planUsage, type UsagePlan } from "../../../core/pricing/view/usage-plan.ts";
import { parseUsageQuery, type UsageFilter } from "../../../core/pricing/view/usage-query.ts";
import { emptySums, type UsageSums } from "../../../core/pricing/view/usage-sums.ts";
import { effectiveBilling } from "../../../core/values/billing.ts";
import { findZone } from "../../../core/values/zone.ts";
import {
  USAGE_BUCKETS,
  USAGE_DIMENSIONS,
  USAGE_METRICS,
  type UsageDimension,
} from "../../../core/wire/usage.ts";
import type { StoredRequest } from "../../../daemon/store/port/records.ts";
import type { Store } from "../../../daemon/store/port/store.ts";

/** The value of each dimension of a record. */
const KEYS: Readonly<Record<UsageDimension, (record: StoredRequest) => string | number | null | undefined>> =
  {
    project: ({ project }) => project,
    branch: ({ gitBranch }) => gitBranch,
    model: ({ model }) => model,
    provider: ({ provider }) => provider,
    client: ({ client }) => client,
    client_version: ({ clientVersion }) => clientVersion,
    session: ({ sessionId }) => sessionId,
    agent: ({ agentId }) => agentId,
    commit: ({ gitCommit }) => gitCommit,
    remote: ({ gitRemote }) => gitRemote,
    pull_request: ({ pullRequest }) => pullRequest,
    status: ({ errorClass, blockedBy }) =>
      errorClass !== null ? "failed" : blockedBy !== null ? "blocked" : "ok",
    http_status: ({ httpStatus }) => httpStatus,
    error: ({ errorClass }) => errorClass,
    billing: effectiveBilling,
    cost: costOf,
    tokens: ({ tokensComplete }) => (tokensComplete ? "complete" : "incomplete"),
    source: ({ recordSource }) => recordSource ?? "wire",
    kind: ({ requestKind }) => requestKind,
    machine: () => null,
    person: () => null,
  };

function costOf(record: StoredRequest): string {
  if (isUnpriced(record)) return "unpriced";
  return record.costSource === "unpriced" ? "none" : record.costSource;
}

const keyOf = (record: StoredRequest, dimension: UsageDimension | null): string | null => {
  const key = dimension === null ? null : KEYS[dimension](record);
  return key === null || key === undefined || key === "" ? null : `${key}`;
};

const big = (count: number | null) => (count === null ? null : BigInt(count));

function sumsOf(record: StoredRequest): UsageSums {
  const { tokens } = record;
  const sums = emptySums();
  const mode = effectiveBilling(record);
  sums.requests = 1;
  sums.failed = record.errorClass === null ? 0 : 1;
  sums.blocked = record.blockedBy === null ? 0 : 1;
  sums.unpriced = isUnpriced(record) ? 1 : 0;
  sums.incomplete = record.tokensComplete ? 0 : 1;
  sums.estimated = costOf(record) === "estimated" ? 1 : 0;
  sums.unknownBilling = mode === "unknown" ? 1 : 0;
  sums.tokens = {
    prompt: big(tokens.promptTokens),
    cacheRead: big(tokens.cacheReadTokens),
    cacheWrite: big(tokens.cacheWriteTokens),
    cacheWrite1h: big(tokens.cacheWrite1hTokens),
    completion: big(tokens.completionTokens),
    thinking: big(tokens.thinkingTokens),
  };
  sums[SPLIT_PARTS[mode]] = record.costPicoUsd ?? 0n;
  return sums;
}

/** Whether a record passes all filters. */
export const passes = (record: StoredRequest, filters: readonly UsageFilter[]): boolean =>
  filters.every(({ dimension, not, values }) => values.includes(keyOf(record, dimension) ?? "") !== not);

/** Answers a plan by reading every record. */
export function naiveUsage(records: readonly StoredRequest[], plan: UsagePlan): UsageData {
  const { by, thenBy, filters } = plan.query;
  const chosen = records.filter((record) => passes(record, filters));
  const within = (span: { readonly from: number; readonly to: number } | null) =>
    chosen.filter(({ requestedAt: at }) => span !== null && at >= span.from && at < span.to);
  const groups = (span: UsagePlan["compared"]) =>
    within(span).map((record) => ({
      by: keyOf(record, by),
      thenBy: keyOf(record, thenBy),
      sums: sumsOf(record),
    }));
  const buckets = (spans: UsagePlan["buckets"]) =>
    spans.flatMap((span, bucket) =>
      within(span).map((record) => ({ bucket, by: keyOf(record, by), sums: sumsOf(record) })),
    );
  return {
    groups: groups(plan.period),
    buckets: buckets(plan.buckets),
    compared: groups(plan.compared),
    comparedBuckets: buckets(plan.comparedBuckets),
    coverage: null,
  };
}

/** Filters of the usage query. */
export const aUsageFilter = fc.constantFrom(
  "project=a",
  "project=a&project=c",
  "project.not=b",
  "model=x&provider=codex&provider=openai",
  "client=",
  "client.not=",
  "session=s1",
  "session=s1&session=",
  "session.not=s1",
  `commit=${"a".repeat(40)}`,
  "status=failed",
  "status=blocked",
  "status=ok",
  "http_status=529&http_status=",
  "cost=unpriced",
  "cost=estimated&cost=none",
  "tokens=incomplete&billing=unknown",
  "branch=main",
  "kind=chat",
  "kind.not=chat&kind.not=image",
  "machine=",
  "person=someone",
);

const aDimension = fc.option(fc.constantFrom(...USAGE_DIMENSIONS), { nil: null });

/** Queries about the records around an instant, as query strings. */
export const someUsageQuery = (at: number): fc.Arbitrary<string> =>
  fc
    .record({
      period: fc.oneof(
        fc.constantFrom("period=today", "period=7d", "period=30d", "period=12m", ""),
        fc
          .tuple(fc.integer({ min: -200, max: 200 }), fc.constantFrom(1, 5, 96, 300))
          .map(([quarter, length]) => {
            const from = at + quarter * 900_000 + (length === 5 ? 1 : 0);
            return `from=${new Date(from).toISOString()}&to=${new Date(from + length * 900_000).toISOString()}`;
          }),
      ),
      tz: fc.constantFrom("", "", "tz=UTC", "tz=Asia/Kathmandu", "tz=Europe/Berlin"),
      compare: fc.constantFrom("", "compare=none", "compare=year"),
      metric: fc.constantFrom(...USAGE_METRICS).map((metric) => `metric=${metric}`),
      bucket: fc.constantFrom("", ...USAGE_BUCKETS.map((bucket) => `bucket=${bucket}`)),
      by: aDimension,
      second: aDimension,
      filters: fc.array(aUsageFilter, { maxLength: 2 }),
      top: fc.constantFrom("top=1", "top=2", ""),
    })
    .map(({ period, tz, compare, metric, bucket, by, second, filters, top }) =>
      [
        period,
        tz,
        compare,
        metric,
        bucket,
        by === null ? "" : `by=${by}`,
        by === null || second === null || second === by ? "" : `then=${second}`,
        ...filters,
        top,
      ]
        .filter((part) => part !== "")
        .join("&"),
    );

/** Compares the answer to a query with one computed from every record. */
export async function checkUsage(
  store: Store,
  records: readonly StoredRequest[],
  text: string,
  now: number,
): Promise<void> {
  const { query, notices } = parseUsageQuery(new URLSearchParams(text));
  assert.deepEqual(notices, [], text);
  const zone = findZone(query.tz ?? process.env.TZ ?? "UTC") ?? assert.fail("unknown zone");
  const result = planUsage(query, { now, zone });
  assert.ok(result.ok, text);
  const read = await store.reports.readUsage(result.plan, async () => {});
  assert.deepEqual(
    answerUsage(result.plan, { ...read, coverage: null }),
    answerUsage(result.plan, naiveUsage(records, result.plan)),
    text,
  );
}
