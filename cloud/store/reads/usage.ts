import { type RawBuilder, sql, type Transaction } from "kysely";
import type { Millis } from "../../../core/values/time.ts";
import { formatCalendarDate, formatInstant } from "../../../core/wire/instant.ts";
import type { UsageTotals } from "../../../core/wire/usage-totals.ts";
import {
  beginningOf,
  REPORTED_OF_REFUSED,
  REPORTED_OF_ROLLUP,
  REPORTED_SUMS,
  rollupKeyOf,
  summedContributions,
  type USAGE_SUMS,
} from "../rollups.ts";
import type { CloudSchema } from "../schema.ts";
import { isWithinHour, type Span, usageSpans } from "./usage-spans.ts";

/** The dimensions that only requests have: with their many values, the rollups would have nearly as many rows as these. */
const REQUEST_DIMENSIONS = ["session_id", "agent_id", "git_branch", "client_version"] as const;

type RequestDimension = (typeof REQUEST_DIMENSIONS)[number];

/** The dimensions of usage. Sums by those of requests are read from the requests of the period. */
export type UsageDimension = "machine_id" | "user_id" | "project" | "provider" | "model" | RequestDimension;

/** Whether sums by a dimension are read from requests, so that a long period takes long. */
export const isRequestDimension = (dimension: string): dimension is RequestDimension =>
  (REQUEST_DIMENSIONS as readonly string[]).includes(dimension);

/** The dimensions that a grouping set groups by; empty for the grand total. */
export type UsageSet = readonly (UsageDimension | "bucket")[];

const TYPES: Readonly<Record<UsageSet[number], string>> = {
  bucket: "timestamptz",
  machine_id: "uuid",
  user_id: "text",
  project: "text",
  provider: "text",
  model: "text",
  session_id: "text",
  agent_id: "text",
  git_branch: "text",
  client_version: "text",
};

/** A group's sums as text, since they may exceed a double's integers. */
type Sums = Record<(typeof REPORTED_SUMS)[number], string>;

/** A usage query. */
export interface UsageQuery extends Span {
  readonly workspaceId: string;
  readonly bucket: "hour" | "day";
  /**
   * Groups of grouping sets. The rollups' rows are first summed once per group, by all dimensions of its sets, and each set is
   * summed from that. Put sets in one group if their dimensions together have few distinct values.
   */
  readonly dimensionGroups: readonly (readonly UsageSet[])[];
  /** How many values of each dimension are returned. Totals over a dimension include all its values. */
  readonly maxValues: number;
  /** The sum by which they are chosen, the highest first; the cost if absent. */
  readonly rankedBy?: (typeof USAGE_SUMS)[number];
}

/** The sums of one group. Dimensions that it is not grouped by are null, and so is the bucket. */
export interface UsageGroup extends Readonly<Record<UsageDimension, string | null>> {
  /** The index of its grouping set among all sets of the query. */
  readonly set: number;
  readonly bucket: Millis | null;
  readonly totals: UsageTotals;
}

const SUMMED = REPORTED_SUMS.map((sum) => `sum(${sum}) as ${sum}`).join(", ");

/** Sums usage in one statement, so that all sums are from one snapshot. */
export async function readUsage(
  trx: Transaction<CloudSchema>,
  query: UsageQuery,
): Promise<readonly UsageGroup[]> {
  const { dimensionGroups } = query;
  const columns = [...new Set(dimensionGroups.flat(2))].sort();
  const groups = dimensionGroups.map((sets) => {
    const named = columns.filter((column) => sets.some((set) => set.includes(column)));
    return { sets, named, groupId: maskOf(columns, named) };
  });
  const { rows } = await sql<
    { group_id: number; mask: number; bucket?: Millis } & Partial<Record<UsageDimension, string>> & Sums
  >`
    with ${partsOf(query)},
    source as (
      select ${sql.raw(`grouping(${columns.join(", ")}) as group_id, ${columns.join(", ")}, ${SUMMED}`)} from parts
      group by ${sql.raw(groupingSets(groups.map(({ named }) => named)))}
    )
    ${sql.raw(groups.map((each) => groupsOf(each, columns, query)).join(" union all "))}`.execute(trx);
  const sets = groups.flatMap(({ sets, named, groupId }) =>
    sets.map((set) => `${groupId} ${maskOf(named, set)}`),
  );
  return rows.map((row) => ({
    set: sets.indexOf(`${row.group_id} ${row.mask}`),
    bucket: row.bucket ?? null,
    machine_id: row.machine_id ?? null,
    user_id: row.user_id ?? null,
    project: row.project ?? null,
    provider: row.provider ?? null,
    model: row.model ?? null,
    session_id: row.session_id ?? null,
    agent_id: row.agent_id ?? null,
    git_branch: row.git_branch ?? null,
    client_version: row.client_version ?? null,
    totals: toTotals(row),
  }));
}

/** A group of sets, all dimensions of its sets, and the number that identifies its rows in `source`. */
interface DimensionGroup {
  readonly sets: readonly UsageSet[];
  readonly named: UsageSet;
  readonly groupId: number;
}

/** Returns the select of one group's sets from `source`. */
function groupsOf(
  { sets, named, groupId }: DimensionGroup,
  columns: UsageSet,
  { maxValues, rankedBy = "cost_pico_usd" }: UsageQuery,
): string {
  const list = columns.map((column) =>
    named.includes(column) ? column : `null::${TYPES[column]} as ${column}`,
  );
  const isTop = named
    .filter((column) => column !== "bucket")
    .map(
      (column) => `and (grouping(${column}) = 1 or ${column} in (
        select ${column} from source where group_id = ${groupId} group by ${column}
        order by sum(${rankedBy}) desc, sum(requests) desc, ${column} limit ${maxValues}))`,
    );
  return `select ${groupId} as group_id, grouping(${named.join(", ")})::integer as mask, ${list.join(", ")}, ${SUMMED}
    from source where group_id = ${groupId} group by ${groupingSets(sets)}
    having sum(requests) > 0 ${isTop.join(" ")}`;
}

function groupingSets(sets: readonly UsageSet[]): string {
  return `grouping sets (${sets.map((set) => `(${set.join(", ")})`).join(", ")})`;
}

/** Returns PostgreSQL's `grouping()` of the columns for a row of that set: one bit for each column it is not grouped by. */
function maskOf(columns: UsageSet, set: UsageSet): number {
  return columns.reduce((mask, column) => mask * 2 + (set.includes(column) ? 0 : 1), 0);
}

/**
 * Returns the common table expression `parts`: rows of the rollups, plus or minus the requests at the period's edges. With a
 * dimension of requests, it is all requests of the period.
 */
function partsOf({
  workspaceId,
  from,
  to,
  bucket,
  dimensionGroups,
}: Omit<UsageQuery, "maxValues">): RawBuilder<unknown> {
  const own = [...new Set(dimensionGroups.flat(2).filter(isRequestDimension))];
  const { days, hours, rows } =
    own.length === 0
      ? usageSpans({ from, to }, bucket)
      : { days: null, hours: [], rows: [{ from, to, sign: 1 as const }] };
  const columns = (time: string, texts: readonly string[] = own, sums = REPORTED_OF_ROLLUP) =>
    sql.raw(
      `${time} as bucket, machine_id, user_id, project, provider, model, ${[...texts, sums].join(", ")}`,
    );
  const hour = bucket === "hour" ? "hour::timestamptz" : beginningOf("day", "hour");
  const ofHours = columns(hour);
  const ofDays = columns(
    "day::timestamp at time zone 'UTC'",
    own.map((column) => `'' as ${column}`),
  );
  const within = (column: string, type: string, from: string, to: string) => sql`
    where workspace_id = ${workspaceId}::uuid
      and ${sql.raw(column)} >= ${from}::${sql.raw(type)} and ${sql.raw(column)} < ${to}::${sql.raw(type)}`;
  const instants = (column: string, span: Span) =>
    within(column, "timestamptz", formatInstant(span.from), formatInstant(span.to));
  const edges = rows.map(
    (span, at) => sql`${sql.raw(`edge_${at}`)} as (
      select * from requests ${instants("requested_at", span)}
    ), `,
  );
  const parts = [
    // Always present, so that an empty period is a valid query too.
    sql`select ${ofDays} from usage_daily ${within(
      "day",
      "date",
      formatCalendarDate(days?.from ?? 0),
      formatCalendarDate(days?.to ?? 0),
    )}`,
    ...hours.map((span) => sql`select ${ofHours} from usage_hourly ${instants("hour", span)}`),
    ...rows.map(
      ({ sign, ...each }, at) =>
        sql`select ${ofHours} from (${sql.raw(summedContributions(`edge_${at}`, sign, own, isWithinHour(each)))}) as e`,
    ),
    sql`select ${columns(hour, own, REPORTED_OF_REFUSED)} from (
      select ${sql.raw(rollupKeyOf(own))} from requests ${instants("requested_at", { from, to })}
      and blocked_by is not null) as refused`,
  ];
  return sql`${sql.join(edges, sql``)} parts as (${sql.join(parts, sql` union all `)})`;
}

/** The sums of nothing. */
export const NO_USAGE: UsageTotals = toTotals(
  Object.fromEntries(REPORTED_SUMS.map((sum) => [sum, "0"])) as Sums,
);

function toTotals(sums: Sums): UsageTotals {
  // The wire has no number beyond 2^53.
  const count = (sum: string) => Math.min(Number(sum), Number.MAX_SAFE_INTEGER);
  return {
    requests: count(sums.requests),
    failed_requests: count(sums.failed_requests),
    blocked_requests: count(sums.blocked_requests),
    prompt_tokens: count(sums.prompt_tokens),
    completion_tokens: count(sums.completion_tokens),
    cache_read_tokens: count(sums.cache_read_tokens),
    cache_write_tokens: count(sums.cache_write_tokens),
    thinking_tokens: count(sums.thinking_tokens),
    cost_pico_usd: sums.cost_pico_usd,
    spent_pico_usd: sums.spent_pico_usd,
    plan_usage_pico_usd: sums.plan_usage_pico_usd,
    unknown_billing_pico_usd: (
      BigInt(sums.cost_pico_usd) -
      BigInt(sums.spent_pico_usd) -
      BigInt(sums.plan_usage_pico_usd)
    ).toString(),
    unpriced_requests: count(sums.unpriced_requests),
    incomplete_requests: count(sums.incomplete_requests),
  };
}
