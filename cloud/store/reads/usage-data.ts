import { type RawBuilder, sql, type Transaction } from "kysely";
import type { UsageBucketGroup, UsageData, UsageGroup } from "../../../core/pricing/view/usage-answer.ts";
import type { UsagePlan } from "../../../core/pricing/view/usage-plan.ts";
import type { UsageFilter } from "../../../core/pricing/view/usage-query.ts";
import type { UsageSums } from "../../../core/pricing/view/usage-sums.ts";
import { EFFECTIVE_BILLING_SQL } from "../../../core/values/billing.ts";
import { HOUR_MS, type Millis } from "../../../core/values/time.ts";
import { formatInstant } from "../../../core/wire/instant.ts";
import type { UsageDimension } from "../../../core/wire/usage.ts";
import { listUnsummedDays } from "../branch-sums.ts";
import type { CloudDatabase } from "../open-database.ts";
import {
  BRANCH_KEY,
  contributions,
  FAILED,
  NO_MACHINE,
  TOKEN_SUMS,
  USAGE_SUMS,
  USED_NOTHING,
} from "../rollups.ts";
import type { CloudSchema } from "../schema.ts";
import { inReadScope } from "./read-scope.ts";
import { partsOf } from "./usage.ts";
import { type Span, splitByDays, usageSpans } from "./usage-spans.ts";

const DAY_MS = 24 * HOUR_MS;

/** SQL for whether a row of `requests` has no known price. */
export const UNPRICED = `(cost_pico_usd is null and not (${FAILED} is true and ${USED_NOTHING}))`;

const COST = `case when ${UNPRICED} then 'unpriced' when cost_source = 'unpriced' then 'none' else cost_source end`;

/** SQL for the text of each dimension over `requests`; empty if it is unknown. A cloud does not receive the client's name. */
const REQUEST_SQL: Readonly<Record<Exclude<UsageDimension, "client">, string>> = {
  project: "coalesce(project, '')",
  branch: "coalesce(git_branch, '')",
  model: "model",
  provider: "provider",
  client_version: "coalesce(client_version, '')",
  session: "coalesce(session_id, '')",
  agent: "coalesce(agent_id, '')",
  commit: "coalesce(git_commit, '')",
  remote: "coalesce(git_remote, '')",
  pull_request: "coalesce(pull_request::text, '')",
  status: `case when ${FAILED} is true then 'failed' else 'ok' end`,
  http_status: "coalesce(http_status::text, '')",
  error: "coalesce(error_class, '')",
  billing: EFFECTIVE_BILLING_SQL,
  cost: COST,
  tokens: "case when tokens_complete is false then 'incomplete' else 'complete' end",
  source: "coalesce(record_source, 'wire')",
  // As `kindOf()`.
  kind: `coalesce(request_kind, case when tokens_complete is true and completion_tokens is null then 'embedding' else 'other' end)`,
  machine: "coalesce(machine_id::text, '')",
  person: "user_id",
};

/** SQL for the text of each dimension over the rollups, which have only these. */
const ROLLUP_SQL: Readonly<Partial<Record<UsageDimension, string>>> = {
  project: "project",
  model: "model",
  provider: "provider",
  machine: `case when machine_id = '${NO_MACHINE}' then '' else machine_id::text end`,
  person: "user_id",
};

/** SQL for the text of each dimension over the sums by branch. */
const BRANCH_SQL: Readonly<Partial<Record<UsageDimension, string>>> = {
  project: "project",
  branch: "git_branch",
  provider: "provider",
  model: "model",
};

/** The dimensions of a cloud's usage. */
export const isCloudDimension = (dimension: UsageDimension): boolean => dimension in REQUEST_SQL;

/**
 * Returns what answers a plan. All sums are by hour (UTC), so buckets of a zone with another offset, or shorter ones, are read from
 * requests.
 */
export function sourceOf({
  query,
  buckets,
  comparedBuckets,
}: UsagePlan): "rollups" | "branches" | "requests" {
  const dimensions = [query.by, query.thenBy, ...query.filters.map(({ dimension }) => dimension)];
  const isIn = (sqlOf: object) => dimensions.every((dimension) => dimension === null || dimension in sqlOf);
  const isOfHours = [buckets, comparedBuckets].every((all) =>
    all.slice(1).every(({ from }) => from % HOUR_MS === 0),
  );
  if (!isOfHours) return "requests";
  if (isIn(ROLLUP_SQL)) return "rollups";
  return isIn(BRANCH_SQL) ? "branches" : "requests";
}

/** Counts the days of a plan's period whose sums by branch are incomplete, so that their requests are read. */
export async function countUnsummedDays(
  db: CloudDatabase,
  workspaceId: string,
  { period }: UsagePlan,
): Promise<number> {
  const days = await inReadScope(db, { workspaceId }, (trx) => listUnsummedDays(trx, workspaceId, period));
  return days.length;
}

const BIG_SUMS = ["cache_write_1h_tokens", "spent", "plan_usage", "unknown_billing"] as const;
const COUNTS = ["requests", "failed", "unpriced", "incomplete", "estimated", "unknown_payer"] as const;

/** The sums as text, since they may exceed a double's integers; null if they are unknown. */
type SumTexts = Record<
  (typeof COUNTS)[number] | (typeof TOKEN_SUMS)[number] | (typeof BIG_SUMS)[number],
  string | null
>;

const SUMS = [...COUNTS, ...TOKEN_SUMS, ...BIG_SUMS];

const billed = (modes: string) =>
  `case when ${EFFECTIVE_BILLING_SQL} in (${modes}) then cost_pico_usd else 0 end`;

/** What one request adds. */
const OF_REQUEST = `1 as requests, (${FAILED} is true)::integer as failed, ${UNPRICED}::integer as unpriced,
  (tokens_complete is false)::integer as incomplete, (${COST} = 'estimated')::integer as estimated,
  (${EFFECTIVE_BILLING_SQL} = 'unknown')::integer as unknown_payer, ${TOKEN_SUMS.join(", ")}, cache_write_1h_tokens,
  ${billed("'metered', 'credits', 'free'")} as spent, ${billed("'plan'")} as plan_usage, ${billed("'unknown'")} as unknown_billing`;

/** What a row of the rollups adds. They do not tell an unknown count from 0, so 0 is unknown. */
const OF_ROLLUP = `requests, failed_requests as failed, unpriced_requests as unpriced, incomplete_requests as incomplete,
  null::bigint as estimated, null::bigint as unknown_payer, ${TOKEN_SUMS.map((sum) => `nullif(${sum}, 0) as ${sum}`).join(", ")},
  null::bigint as cache_write_1h_tokens, spent_pico_usd as spent, plan_usage_pico_usd as plan_usage,
  cost_pico_usd - spent_pico_usd - plan_usage_pico_usd as unknown_billing`;

/** Reads the sums of a plan, each period in one statement, so that groups and buckets are from one snapshot. */
export async function readUsageData(
  db: CloudDatabase,
  workspaceId: string,
  plan: UsagePlan,
): Promise<Omit<UsageData, "coverage">> {
  return await inReadScope(db, { workspaceId }, async (trx) => {
    const current = await readPeriod(trx, workspaceId, plan, plan.period, plan.buckets);
    const compared = await readPeriod(trx, workspaceId, plan, plan.compared, plan.comparedBuckets);
    return { ...current, compared: compared.groups, comparedBuckets: compared.buckets };
  });
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
  const sums = sql.raw(SUMS.map((sum) => `sum(${sum})::text as ${sum}`).join(", "));
  const hasBuckets = buckets.length > 0;
  const sets = sql.raw(hasBuckets ? "(by, then_by), (bucket, by)" : "(by, then_by)");
  const bucket = sql.raw(hasBuckets ? "bucket" : "null::integer as bucket");
  const source = await readSource(trx, workspaceId, plan, span, buckets);
  const { rows } = await sql<Row>`
    with ${source}
    select grouping(then_by)::integer as is_bucket, ${bucket}, by, then_by, ${sums}
    from source group by grouping sets (${sets}) having sum(requests) <> 0`.execute(trx);
  const groups: UsageGroup[] = [];
  const bucketGroups: UsageBucketGroup[] = [];
  for (const row of rows) {
    const by = keyOf(row.by);
    if (row.is_bucket === 0) groups.push({ by, thenBy: keyOf(row.then_by ?? ""), sums: toSums(row) });
    else bucketGroups.push({ bucket: Number(row.bucket), by, sums: toSums(row) });
  }
  return { groups, buckets: bucketGroups };
}

/** Returns the common table expression `source`: what is summed, with the columns that group it. */
async function readSource(
  trx: Transaction<CloudSchema>,
  workspaceId: string,
  plan: UsagePlan,
  span: Span,
  buckets: readonly Span[],
): Promise<RawBuilder<unknown>> {
  switch (sourceOf(plan)) {
    case "rollups":
      return ofRollups(workspaceId, plan, span, buckets);
    case "branches":
      return ofBranches(workspaceId, plan, span, buckets, await listUnsummedDays(trx, workspaceId, span));
    case "requests":
      return ofRequests(workspaceId, plan, span, buckets);
  }
}

const keyOf = (text: string): string | null => (text === "" ? null : text);

/** SQL for the number of the bucket that an instant is in. The hour of a cut first bucket begins before it. */
function bucketSql(time: string, buckets: readonly Span[]): RawBuilder<unknown> {
  if (buckets.length === 0) return sql`null::integer`;
  const bounds = sql.join(buckets.map(({ from }) => sql`${formatInstant(from)}::timestamptz`));
  return sql`greatest(width_bucket(${sql.raw(time)}, array[${bounds}]), 1) - 1`;
}

/** SQL that all filters hold, each after "and". */
const matchFilters = (
  filters: readonly UsageFilter[],
  sqlOf: Readonly<Partial<Record<UsageDimension, string>>>,
): RawBuilder<unknown> =>
  sql.join(
    filters.map(({ dimension, not, values }) => {
      const list = sql.join(values.map((value) => sql`${value}::text`));
      return sql` and (${sql.raw(sqlOf[dimension] ?? "''")}) ${sql.raw(not ? "not in" : "in")} (${list})`;
    }),
    sql``,
  );

/** SQL over `requests` that all filters hold, each after "and". The bare column of a session has the index. */
export const matchRequests = (filters: readonly UsageFilter[]): RawBuilder<unknown> =>
  sql.join(
    filters.map((filter) => {
      const isIndexed = filter.dimension === "session" && !filter.not && !filter.values.includes("");
      return matchFilters([filter], isIndexed ? { session: "session_id" } : REQUEST_SQL);
    }),
    sql``,
  );

/** Returns the columns that group rows, and the condition of the filters. */
function groupedBy(
  { query }: UsagePlan,
  sqlOf: Readonly<Partial<Record<UsageDimension, string>>>,
  bucket: RawBuilder<unknown>,
) {
  const text = (dimension: UsageDimension | null) =>
    sql.raw(dimension === null ? "''" : `(${sqlOf[dimension] ?? "''"})`);
  return {
    columns: sql`${bucket} as bucket, ${text(query.by)} as by, ${text(query.thenBy)} as then_by`,
    filters: matchFilters(query.filters, sqlOf),
  };
}

function ofRollups(
  workspaceId: string,
  plan: UsagePlan,
  span: Span,
  buckets: readonly Span[],
): RawBuilder<unknown> {
  const parts = partsOf({
    workspaceId,
    from: span.from,
    to: span.to,
    bucket: spanUnit(buckets),
    dimensionGroups: [],
  });
  const { columns, filters } = groupedBy(plan, ROLLUP_SQL, bucketSql("bucket", buckets));
  return sql`${parts}, source as (select ${columns}, ${sql.raw(OF_ROLLUP)} from parts where true ${filters})`;
}

/** Whether all buckets begin with a UTC day, so that the sums of days can be used. */
const spanUnit = (buckets: readonly Span[]): "hour" | "day" =>
  buckets.slice(1).every(({ from }) => from % DAY_MS === 0) ? "day" : "hour";

function ofBranches(
  workspaceId: string,
  plan: UsagePlan,
  span: Span,
  buckets: readonly Span[],
  unsummedDays: readonly Millis[],
): RawBuilder<unknown> {
  const { summed, unsummed } = splitByDays(span, unsummedDays);
  const spans = summed.map((each) => usageSpans(each, spanUnit(buckets)));
  const sums = [
    ...spans.flatMap(({ days }) => (days === null ? [] : [{ ...days, hours: 24 }])),
    ...spans.flatMap(({ hours }) => hours.map((each) => ({ ...each, hours: 1 }))),
  ];
  const rows = [
    ...spans.flatMap((each) => each.rows),
    ...unsummed.map((each) => ({ ...each, sign: 1 as const })),
  ];
  const columns = (time: string) => sql.raw(`${time} as bucket, ${BRANCH_KEY}, ${USAGE_SUMS.join(", ")}`);
  const within = (time: string, { from, to }: Span) => sql`workspace_id = ${workspaceId}::uuid
    and ${sql.raw(time)} >= ${formatInstant(from)}::timestamptz and ${sql.raw(time)} < ${formatInstant(to)}::timestamptz`;
  const edges = rows.map(
    (each, at) =>
      sql`${sql.raw(`edge_${at}`)} as (select * from requests where ${within("requested_at", each)}), `,
  );
  const parts = [
    ...sums.map(
      (each) => sql`select ${columns("starts_at")} from usage_branches
        where span_hours = ${sql.lit(each.hours)} and ${within("starts_at", each)}`,
    ),
    ...rows.map(
      ({ sign }, at) =>
        sql`select ${columns("hour")} from (${sql.raw(contributions(`edge_${at}`, sign, ["git_branch"]))}) as e`,
    ),
  ];
  const grouped = groupedBy(plan, BRANCH_SQL, bucketSql("bucket", buckets));
  return sql`${sql.join(edges, sql``)} parts as (${sql.join(parts, sql` union all `)}),
    source as (select ${grouped.columns}, ${sql.raw(OF_ROLLUP)} from parts where true ${grouped.filters})`;
}

function ofRequests(
  workspaceId: string,
  plan: UsagePlan,
  span: Span,
  buckets: readonly Span[],
): RawBuilder<unknown> {
  const { columns, filters } = groupedBy(plan, REQUEST_SQL, bucketSql("requested_at", buckets));
  const at = (time: Millis) => sql`${formatInstant(time)}::timestamptz`;
  return sql`source as (select ${columns}, ${sql.raw(OF_REQUEST)} from requests
    where workspace_id = ${workspaceId}::uuid and requested_at >= ${at(span.from)} and requested_at < ${at(span.to)} ${filters})`;
}

const toBigInt = (text: string | null): bigint | null => (text === null ? null : BigInt(text));

function toSums(row: SumTexts): UsageSums {
  const count = (text: string | null) => (text === null ? null : Number(text));
  return {
    requests: Number(row.requests),
    failed: Number(row.failed),
    unpriced: Number(row.unpriced),
    incomplete: Number(row.incomplete),
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
