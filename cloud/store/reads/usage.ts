import { type RawBuilder, sql, type Transaction } from "kysely";
import type { Millis } from "../../../core/values/time.ts";
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
import { isWithin, MODELS, ROLLUPS, type SumTables } from "./usage-sources.ts";
import { isWithinHour, type Span, type UsageSpans, usageSpans } from "./usage-spans.ts";

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
  /** Groups that are summed from the sums by model in place of the rollups, as far fewer rows. The caller knows that these are complete. */
  readonly modelGroups?: readonly (readonly UsageSet[])[];
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
  const { dimensionGroups, modelGroups = [] } = query;
  const columns = [...new Set([dimensionGroups, modelGroups].flat(3))].sort();
  const groups = [...groupSets("parts", dimensionGroups), ...groupSets("model_parts", modelGroups)];
  const { rows } = await sql<
    { parts: string; group_id: number; mask: number; bucket?: Millis } & Partial<
      Record<UsageDimension, string>
    > &
      Sums
  >`
    with ${partsOf(query)},
    source as (${sql.raw([...Map.groupBy(groups, ({ parts }) => parts).values()].map((own) => sourceOf(own, columns)).join(" union all "))})
    ${sql.raw(groups.map((each) => groupsOf(each, columns, query)).join(" union all "))}`.execute(trx);
  const sets = groups.flatMap(({ parts, groupId, sets, named }) =>
    sets.map((set) => `${parts} ${groupId} ${maskOf(named, set)}`),
  );
  return rows.map((row) => ({
    set: sets.indexOf(`${row.parts} ${row.group_id} ${row.mask}`),
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

/** What groups are summed from: the name of a common table expression. */
type PartsName = "parts" | "model_parts";

/** A group of sets, all dimensions of its sets, and the number that identifies its rows of `parts` in `source`. */
interface DimensionGroup {
  readonly parts: PartsName;
  readonly sets: readonly UsageSet[];
  readonly named: UsageSet;
  readonly groupId: number;
}

const columnsOf = (sets: readonly UsageSet[]): UsageSet => [...new Set(sets.flat())].sort();

function groupSets(parts: PartsName, groups: readonly (readonly UsageSet[])[]): readonly DimensionGroup[] {
  const columns = columnsOf(groups.flat());
  return groups.map((sets) => {
    const named = columnsOf(sets);
    return { parts, sets, named, groupId: maskOf(columns, named) };
  });
}

/** The select list of all columns; those that are not summed by are null. */
const listColumns = (columns: UsageSet, own: UsageSet): string =>
  columns.map((column) => (own.includes(column) ? column : `null::${TYPES[column]} as ${column}`)).join(", ");

/** Returns the select of the sums of groups of the same parts, each by all of its dimensions. */
function sourceOf(groups: readonly DimensionGroup[], columns: UsageSet): string {
  const own = columnsOf(groups.map(({ named }) => named));
  return `select '${groups[0]?.parts}' as parts, grouping(${own.join(", ")}) as group_id, ${listColumns(columns, own)}, ${SUMMED}
    from ${groups[0]?.parts} group by ${groupingSets(groups.map(({ named }) => named))}`;
}

/** Returns the select of one group's sets from `source`. */
function groupsOf(
  { parts, sets, named, groupId }: DimensionGroup,
  columns: UsageSet,
  { maxValues, rankedBy = "cost_pico_usd" }: UsageQuery,
): string {
  const isOwn = `parts = '${parts}' and group_id = ${groupId}`;
  const isTop = named
    .filter((column) => column !== "bucket")
    .map(
      (column) => `and (grouping(${column}) = 1 or ${column} in (
        select ${column} from source where ${isOwn} group by ${column}
        order by sum(${rankedBy}) desc, sum(requests) desc, ${column} limit ${maxValues}))`,
    );
  return `select '${parts}' as parts, ${groupId} as group_id, grouping(${named.join(", ")})::integer as mask, ${listColumns(columns, named)}, ${SUMMED}
    from source where ${isOwn} group by ${groupingSets(sets)}
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
 * Returns the common table expressions `parts` and, for groups of models, `model_parts`: rows of the rollups and of the sums by model, plus or
 * minus the requests at the period's edges. With a dimension of requests, `parts` is all requests of the period.
 */
function partsOf({
  workspaceId,
  from,
  to,
  bucket,
  dimensionGroups,
  modelGroups = [],
}: UsageQuery): RawBuilder<unknown> {
  const own = [...new Set(dimensionGroups.flat(2).filter(isRequestDimension))];
  const spans =
    own.length === 0
      ? usageSpans({ from, to }, bucket)
      : { days: null, hours: [], rows: [{ from, to, sign: 1 as const }] };
  const edges = spans.rows.map(
    (span, at) => sql`${sql.raw(`edge_${at}`)} as (
      select * from requests where ${isWithin(workspaceId, "requested_at", span)}
    )`,
  );
  const all = (name: string, tables: SumTables) =>
    sql`${sql.raw(name)} as (${sql.join(selectParts(workspaceId, { from, to }, { ...tables, texts: own }, bucket, spans), sql` union all `)})`;
  return sql.join(
    [...edges, all("parts", ROLLUPS), ...(modelGroups.length === 0 ? [] : [all("model_parts", MODELS)])],
    sql`, `,
  );
}

/** Selects the rows of sums and requests that a period is summed from. */
function selectParts(
  workspaceId: string,
  period: Span,
  { key, texts, hours, days, isDayWithin }: SumTables,
  bucket: UsageQuery["bucket"],
  spans: UsageSpans,
): RawBuilder<unknown>[] {
  const columns = (time: string, sums = REPORTED_OF_ROLLUP, own = texts) =>
    sql.raw([`${time} as bucket`, key, ...own, sums].join(", "));
  const beginning = (time: string) => (bucket === "hour" ? `${time}::timestamptz` : beginningOf("day", time));
  return [
    // Always present, so that an empty period is a valid query too.
    sql`select ${columns(
      days.time,
      REPORTED_OF_ROLLUP,
      texts.map((column) => `'' as ${column}`),
    )} from ${sql.raw(days.from)}
      where ${isDayWithin(workspaceId, spans.days ?? { from: 0, to: 0 })}`,
    ...spans.hours.map(
      (span) => sql`select ${columns(beginning(hours.time))} from ${sql.raw(hours.from)}
        where ${isWithin(workspaceId, hours.time, span)} and ${sql.raw(hours.where)}`,
    ),
    ...spans.rows.map(
      ({ sign, ...each }, at) =>
        sql`select ${columns(beginning("hour"))} from (${sql.raw(summedContributions(`edge_${at}`, sign, texts, isWithinHour(each)))}) as e`,
    ),
    sql`select ${columns(beginning("hour"), REPORTED_OF_REFUSED)} from (
      select ${sql.raw(rollupKeyOf(texts))} from requests where ${isWithin(workspaceId, "requested_at", period)}
      and blocked_by is not null) as refused`,
  ];
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
