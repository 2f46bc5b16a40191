import { sql, type Transaction } from "kysely";
import type { UsageBucketGroup, UsageData, UsageGroup } from "../../../core/pricing/view/usage-answer.ts";
import type { UsagePlan } from "../../../core/pricing/view/usage-plan.ts";
import type { UsageSums } from "../../../core/pricing/view/usage-sums.ts";
import type { UsageDimension } from "../../../core/wire/usage.ts";
import { listUnsummedDays } from "../branch-sums.ts";
import type { CloudDatabase } from "../open-database.ts";
import type { CloudSchema } from "../schema.ts";
import { inReadScope } from "./read-scope.ts";
import { readSource, SUMS, SUMS_OF_METRIC, type Sum, sourceOf } from "./usage-sources.ts";
import type { Span } from "./usage-spans.ts";

/** Counts the days of a plan's period whose sums by branch are incomplete, so that their requests are read. */
export async function countUnsummedDays(
  db: CloudDatabase,
  workspaceId: string,
  { period }: UsagePlan,
): Promise<number> {
  const days = await inReadScope(db, { workspaceId }, (trx) => listUnsummedDays(trx, workspaceId, period));
  return days.length;
}

/** Sums as text, since they may exceed a double's integers; null if they are unknown. Those that were not read are absent. */
type SumTexts = Partial<Record<Sum, string | null>>;

/** Reads the sums of a plan, each period in one statement, so that groups and buckets are from one snapshot. */
export async function readUsageData(
  trx: Transaction<CloudSchema>,
  workspaceId: string,
  plan: UsagePlan,
): Promise<Omit<UsageData, "coverage">> {
  const current = await readPeriod(trx, workspaceId, plan, plan.period, plan.buckets);
  const compared = await readPeriod(trx, workspaceId, plan, plan.compared, plan.comparedBuckets);
  return { ...current, compared: compared.groups, comparedBuckets: compared.buckets };
}

/** A row: a group if `is_bucket` is 0, otherwise the sums of a bucket and the first dimension. */
interface Row extends SumTexts {
  readonly is_bucket: number;
  readonly bucket: number | null;
  readonly by: string;
  readonly then_by: string | null;
}

async function readPeriod(
  trx: Transaction<CloudSchema>,
  workspaceId: string,
  plan: UsagePlan,
  span: Span | null,
  buckets: readonly Span[],
): Promise<Pick<UsageData, "groups" | "buckets">> {
  if (span === null || span.from >= span.to) return { groups: [], buckets: [] };
  const { by, thenBy } = plan.query;
  const { tables, sums } = await readSource(trx, workspaceId, plan, {
    ...{ source: sourceOf(plan), span, buckets, sums: SUMS },
    dimensions: { by, then_by: thenBy },
  });
  const hasBuckets = buckets.length > 0;
  const sets = sql.raw(hasBuckets ? "(by, then_by), (bucket, by)" : "(by, then_by)");
  const bucket = sql.raw(hasBuckets ? "bucket" : "null::integer as bucket");
  const { rows } = await sql<Row>`
    with ${tables}
    select grouping(then_by)::integer as is_bucket, ${bucket}, by, then_by, ${sums}
    from source group by grouping sets (${sets}) having sum(requests) <> 0`.execute(trx);
  const groups: UsageGroup[] = [];
  const bucketGroups: UsageBucketGroup[] = [];
  for (const row of rows) {
    const key = keyOf(row.by);
    if (row.is_bucket === 0) groups.push({ by: key, thenBy: keyOf(row.then_by ?? ""), sums: toSums(row) });
    else bucketGroups.push({ bucket: Number(row.bucket), by: key, sums: toSums(row) });
  }
  return { groups, buckets: bucketGroups };
}

/** Reads the sums of a plan without buckets by each of some dimensions, each period in one statement. */
export async function readUsageEach(
  trx: Transaction<CloudSchema>,
  workspaceId: string,
  plan: UsagePlan,
  dimensions: readonly UsageDimension[],
): Promise<readonly Omit<UsageData, "coverage">[]> {
  const groups = await readPeriodEach(trx, workspaceId, plan, plan.period, dimensions);
  const compared = await readPeriodEach(trx, workspaceId, plan, plan.compared, dimensions);
  return dimensions.map((_, at) => ({
    ...{ groups: groups[at] ?? [], buckets: [] },
    ...{ compared: compared[at] ?? [], comparedBuckets: [] },
  }));
}

async function readPeriodEach(
  trx: Transaction<CloudSchema>,
  workspaceId: string,
  plan: UsagePlan,
  span: Span | null,
  dimensions: readonly UsageDimension[],
): Promise<readonly (readonly UsageGroup[])[]> {
  if (span === null || span.from >= span.to) return [];
  const columns = dimensions.map((_, at) => `by_${at}`);
  const { tables, sums } = await readSource(trx, workspaceId, plan, {
    ...{ source: sourceOf(plan, dimensions), span, buckets: [], sums: SUMS },
    dimensions: Object.fromEntries(dimensions.map((dimension, at) => [`by_${at}`, dimension])),
  });
  // The rows are summed by all dimensions first: there are far fewer of these sums than rows.
  const { rows } = await sql<SumTexts & { dimension: number; value: string }>`
    with ${tables},
    joint as (
      select ${sql.raw(`${columns.join(", ")}, ${SUMS.map((sum) => `sum(${sum}) as ${sum}`).join(", ")}`)}
      from source group by ${sql.raw(columns.join(", "))}
    )
    select ${sql.raw(`case ${columns.map((column, at) => `when grouping(${column}) = 0 then ${at}`).join(" ")} end`)} as dimension,
      ${sql.raw(`coalesce(${columns.join(", ")})`)} as value, ${sums}
    from joint group by grouping sets (${sql.raw(columns.map((column) => `(${column})`).join(", "))})
    having sum(requests) <> 0`.execute(trx);
  const found = Map.groupBy(rows, ({ dimension }) => dimension);
  return dimensions.map((_, at) =>
    (found.get(at) ?? []).map((row) => ({ by: keyOf(row.value), thenBy: null, sums: toSums(row) })),
  );
}

/** Reads the buckets of a plan's period over all dimensions. Of their sums, only those of the metric and the requests are read. */
export async function readUsageSeries(
  trx: Transaction<CloudSchema>,
  workspaceId: string,
  plan: UsagePlan,
): Promise<Pick<UsageData, "buckets">> {
  const { period: span, buckets, query } = plan;
  if (span.from >= span.to || buckets.length === 0) return { buckets: [] };
  const { tables, sums } = await readSource(trx, workspaceId, plan, {
    ...{ source: sourceOf(plan, []), span, buckets, sums: SUMS_OF_METRIC[query.metric] },
    dimensions: {},
  });
  const { rows } = await sql<SumTexts & { bucket: number }>`
    with ${tables} select bucket, ${sums} from source group by bucket having sum(requests) <> 0`.execute(trx);
  return { buckets: rows.map((row) => ({ bucket: row.bucket, by: null, sums: toSums(row) })) };
}

const keyOf = (text: string): string | null => (text === "" ? null : text);

const toBigInt = (text: string | null = null): bigint | null => (text === null ? null : BigInt(text));

function toSums(row: SumTexts): UsageSums {
  const count = (text: string | null = null) => (text === null ? null : Number(text));
  return {
    requests: Number(row.requests ?? 0),
    failed: Number(row.failed ?? 0),
    blocked: Number(row.blocked ?? 0),
    unpriced: Number(row.unpriced ?? 0),
    incomplete: Number(row.incomplete ?? 0),
    estimated: count(row.estimated),
    unknownBilling: count(row.unknown_payer),
    tokens: {
      prompt: toBigInt(row.prompt_tokens),
      cacheRead: toBigInt(row.cache_read_tokens),
      cacheWrite: toBigInt(row.cache_write_tokens),
      cacheWrite1h: toBigInt(row.cache_write_1h_tokens),
      completion: toBigInt(row.completion_tokens),
      thinking: toBigInt(row.thinking_tokens),
    },
    spentPicoUsd: BigInt(row.spent ?? 0),
    planUsagePicoUsd: BigInt(row.plan_usage ?? 0),
    unknownBillingPicoUsd: BigInt(row.unknown_billing ?? 0),
  };
}
