import { type RawBuilder, sql, type Transaction } from "kysely";
import { billingModesSql } from "../../../core/pricing/cost-split.ts";
import type { UsagePlan } from "../../../core/pricing/view/usage-plan.ts";
import type { UsageFilter } from "../../../core/pricing/view/usage-query.ts";
import { EFFECTIVE_BILLING_SQL } from "../../../core/values/billing.ts";
import { HOUR_MS, type Millis } from "../../../core/values/time.ts";
import { formatCalendarDate, formatInstant } from "../../../core/wire/instant.ts";
import type { UsageDimension, UsageMetric } from "../../../core/wire/usage.ts";
import { listUnsummedDays } from "../branch-sums.ts";
import { hasModelSums } from "../model-sums.ts";
import {
  BRANCH_KEY,
  FAILED,
  MODEL_KEY,
  NO_MACHINE,
  REPORTED_OF_REFUSED,
  REPORTED_OF_ROLLUP,
  ROLLUP_KEY,
  rollupKeyOf,
  summedContributions,
  TOKEN_SUMS,
  UNPRICED,
} from "../rollups.ts";
import type { CloudSchema } from "../schema.ts";
import {
  findMovedHours,
  isWithinHour,
  type MovedHours,
  type Span,
  spanUnit,
  splitByDays,
  usageSpans,
} from "./usage-spans.ts";

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
  status: `case when ${FAILED} is true then 'failed' when blocked_by is not null then 'blocked' else 'ok' end`,
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

/** SQL for the text of each dimension over the sums by model. */
const MODEL_SQL: Readonly<Partial<Record<UsageDimension, string>>> = {
  provider: "provider",
  model: "model",
};

/** The dimensions of a cloud's usage. */
export const isCloudDimension = (dimension: UsageDimension): boolean => dimension in REQUEST_SQL;

/** What answers a plan. */
export type UsageSource = "rollups" | "branches" | "requests";

/**
 * Returns what answers a plan by some dimensions. All sums are by hour (UTC), so buckets of a zone with another offset, or shorter ones,
 * are read from requests.
 */
export function sourceOf(
  { query, buckets, comparedBuckets }: UsagePlan,
  by: readonly (UsageDimension | null)[] = [query.by, query.thenBy],
): UsageSource {
  const dimensions = [...by, ...query.filters.map(({ dimension }) => dimension)];
  const isIn = (sqlOf: object) => dimensions.every((dimension) => dimension === null || dimension in sqlOf);
  const isOfHours = [buckets, comparedBuckets].every((all) =>
    all.slice(1).every(({ from }) => from % HOUR_MS === 0),
  );
  if (!isOfHours) return "requests";
  if (isIn(ROLLUP_SQL)) return "rollups";
  return isIn(BRANCH_SQL) ? "branches" : "requests";
}

const COUNTS = [
  "requests",
  "failed",
  "blocked",
  "unpriced",
  "incomplete",
  "estimated",
  "unknown_payer",
] as const;
const BIG_SUMS = ["cache_write_1h_tokens", "spent", "plan_usage", "unknown_billing"] as const;

/** All sums of usage. */
export const SUMS = [...COUNTS, ...TOKEN_SUMS, ...BIG_SUMS] as const;
export type Sum = (typeof SUMS)[number];

/** The sums that a metric is made from, and the requests. */
export const SUMS_OF_METRIC: Readonly<Record<UsageMetric, readonly Sum[]>> = {
  spent: ["requests", "spent"],
  plan_usage: ["requests", "plan_usage"],
  unknown_billing: ["requests", "unknown_billing"],
  requests: ["requests"],
  failed_requests: ["requests", "failed"],
  tokens: ["requests", ...TOKEN_SUMS],
  input_tokens: ["requests", "prompt_tokens", "cache_read_tokens", "cache_write_tokens"],
  cache_read_tokens: ["requests", "cache_read_tokens"],
  cache_write_tokens: ["requests", "cache_write_tokens"],
  output_tokens: ["requests", "completion_tokens", "thinking_tokens"],
};

const TOKENS = Object.fromEntries(TOKEN_SUMS.map((sum) => [sum, sum])) as Record<
  (typeof TOKEN_SUMS)[number],
  string
>;

const billed = (modes: string) =>
  `case when ${EFFECTIVE_BILLING_SQL} in (${modes}) then cost_pico_usd else 0 end`;

/** SQL for what one request adds to each sum. */
const OF_REQUEST: Readonly<Record<Sum, string>> = {
  ...TOKENS,
  requests: "1",
  failed: `(${FAILED} is true)::integer`,
  blocked: "(blocked_by is not null)::integer",
  unpriced: `${UNPRICED}::integer`,
  incomplete: "(tokens_complete is false)::integer",
  estimated: `(${COST} = 'estimated')::integer`,
  unknown_payer: `(${EFFECTIVE_BILLING_SQL} = 'unknown')::integer`,
  cache_write_1h_tokens: "cache_write_1h_tokens",
  spent: billed(billingModesSql("spentPicoUsd")),
  plan_usage: billed("'plan'"),
  unknown_billing: billed("'unknown'"),
};

/** SQL for what a row of the rollups adds to each sum. */
const OF_ROLLUP: Readonly<Record<Sum, string>> = {
  ...TOKENS,
  requests: "requests",
  failed: "failed_requests",
  blocked: "blocked_requests",
  unpriced: "unpriced_requests",
  incomplete: "incomplete_requests",
  estimated: "null::bigint",
  unknown_payer: "null::bigint",
  cache_write_1h_tokens: "null::bigint",
  spent: "spent_pico_usd",
  plan_usage: "plan_usage_pico_usd",
  unknown_billing: "cost_pico_usd - spent_pico_usd - plan_usage_pico_usd",
};

const isTokenSum = (sum: Sum): boolean => sum in TOKENS;

/** What is read of the requests of a period. */
export interface SourceQuery {
  readonly source: UsageSource;
  readonly span: Span;
  readonly buckets: readonly Span[];
  readonly sums: readonly Sum[];
  /** The dimensions by the columns that show them; null for a column without one. */
  readonly dimensions: Readonly<Record<string, UsageDimension | null>>;
}

/** Common table expressions, and what to select from them. */
export interface Source {
  /** Their names end with `source`, which has the bucket, the dimensions and what is summed. */
  readonly tables: RawBuilder<unknown>;
  /** The select list of the sums of groups of `source`. */
  readonly sums: RawBuilder<unknown>;
}

/** Returns the source of a period of a plan. */
export async function readSource(
  trx: Transaction<CloudSchema>,
  workspaceId: string,
  plan: UsagePlan,
  query: SourceQuery,
): Promise<Source> {
  switch (query.source) {
    case "rollups":
      return ofSums(
        workspaceId,
        plan,
        query,
        (await isOfModels(trx, workspaceId, plan, query)) ? MODELS : ROLLUPS,
        [],
      );
    case "branches":
      return ofSums(workspaceId, plan, query, BRANCHES, await listUnsummedDays(trx, workspaceId, query.span));
    case "requests":
      return ofRequests(workspaceId, plan, query);
  }
}

/** Whether the sums by model answer a query. They have the fewest rows. */
async function isOfModels(
  trx: Transaction<CloudSchema>,
  workspaceId: string,
  plan: UsagePlan,
  { dimensions }: SourceQuery,
): Promise<boolean> {
  const all = [...Object.values(dimensions), ...plan.query.filters.map(({ dimension }) => dimension)];
  return (
    all.every((dimension) => dimension === null || dimension in MODEL_SQL) &&
    (await hasModelSums(trx, workspaceId))
  );
}

const list = (items: readonly RawBuilder<unknown>[]): RawBuilder<unknown> => sql.join(items, sql`, `);

const selectSums = (sums: readonly Sum[], sqlOf: (sum: Sum) => string): RawBuilder<unknown>[] =>
  sums.map((sum) => sql.raw(`${sqlOf(sum)} as ${sum}`));

/** SQL for the number of the bucket that an instant is in. The hour of a cut first bucket begins before it. */
function bucketSql(time: string, buckets: readonly Span[]): RawBuilder<unknown> {
  if (buckets.length === 0) return sql`null::integer`;
  // One parameter, since a year of days has hundreds of bounds. The subquery is evaluated once, not for each row.
  const bounds = `{${buckets.map(({ from }) => formatInstant(from)).join(",")}}`;
  return sql`greatest(width_bucket(${sql.raw(time)}, (select ${bounds}::text::timestamptz[])), 1) - 1`;
}

/** SQL for the conditions of all filters, each preceded by `and`. */
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

/** SQL over `requests` for the conditions of all filters, each preceded by `and`. The bare column of a session has the index. */
export const matchRequests = (filters: readonly UsageFilter[]): RawBuilder<unknown> =>
  sql.join(
    filters.map((filter) => {
      const isIndexed = filter.dimension === "session" && !filter.not && !filter.values.includes("");
      return matchFilters([filter], isIndexed ? { session: "session_id" } : REQUEST_SQL);
    }),
    sql``,
  );

/** Returns the columns of dimensions. */
const selectDimensions = (
  dimensions: SourceQuery["dimensions"],
  sqlOf: Readonly<Partial<Record<UsageDimension, string>>>,
): RawBuilder<unknown>[] =>
  Object.entries(dimensions).map(([column, dimension]) =>
    sql.raw(`${dimension === null ? "''" : `(${sqlOf[dimension] ?? "''"})`} as ${column}`),
  );

function ofRequests(
  workspaceId: string,
  plan: UsagePlan,
  { span, buckets, sums, dimensions }: SourceQuery,
): Source {
  const columns = list([
    sql`${bucketSql("requested_at", buckets)} as bucket`,
    ...selectDimensions(dimensions, REQUEST_SQL),
    ...selectSums(sums, (sum) => OF_REQUEST[sum]),
  ]);
  return {
    tables: sql`source as (select ${columns} from requests
      where ${isWithin(workspaceId, "requested_at", span)} ${matchFilters(plan.query.filters, REQUEST_SQL)})`,
    sums: list(selectSums(sums, (sum) => `sum(${sum})::text`)),
  };
}

export const isWithin = (workspaceId: string, time: string, { from, to }: Span): RawBuilder<unknown> =>
  sql`workspace_id = ${workspaceId}::uuid and ${sql.raw(time)} >= ${formatInstant(from)}::timestamptz
    and ${sql.raw(time)} < ${formatInstant(to)}::timestamptz`;

/** SQL for the condition that a time is one of some hours. */
const isAnyOf = (workspaceId: string, time: string, hours: readonly Millis[]): RawBuilder<unknown> =>
  sql`workspace_id = ${workspaceId}::uuid
    and ${sql.raw(time)} = any(${`{${hours.map(formatInstant).join(",")}}`}::text::timestamptz[])`;

/** Sums by hour and by day. */
export interface SumTables {
  /** The columns of the key besides the workspace and the time. */
  readonly key: string;
  readonly dimensions: Readonly<Partial<Record<UsageDimension, string>>>;
  /** The text columns of requests that this key has and the rollups' key lacks. */
  readonly texts: readonly string[];
  /** The table and the time of the hours, and their condition. */
  readonly hours: { readonly from: string; readonly time: string; readonly where: string };
  /** The table of the days, the instant at which one begins, and the condition of those of a span. */
  readonly days: { readonly from: string; readonly time: string };
  isDayWithin(workspaceId: string, span: Span): RawBuilder<unknown>;
}

export const ROLLUPS: SumTables = {
  key: ROLLUP_KEY,
  dimensions: ROLLUP_SQL,
  texts: [],
  hours: { from: "usage_hourly", time: "hour", where: "true" },
  days: { from: "usage_daily", time: "day::timestamp at time zone 'UTC'" },
  isDayWithin: (workspaceId, { from, to }) => sql`workspace_id = ${workspaceId}::uuid
    and day >= ${formatCalendarDate(from)}::date and day < ${formatCalendarDate(to)}::date`,
};

/** The sums in `usage_branches`. `hour` and `day` are the `span_hours` of their rows. */
const inBranches = (
  keys: Pick<SumTables, "key" | "dimensions" | "texts">,
  { hour, day }: { readonly hour: number; readonly day: number },
): SumTables => ({
  ...keys,
  hours: { from: "usage_branches", time: "starts_at", where: `span_hours = ${hour}` },
  days: { from: "usage_branches", time: "starts_at" },
  isDayWithin: (workspaceId, span) =>
    sql`${isWithin(workspaceId, "starts_at", span)} and ${sql.raw(`span_hours = ${day}`)}`,
});

const BRANCHES = inBranches(
  { key: BRANCH_KEY, dimensions: BRANCH_SQL, texts: ["git_branch"] },
  { hour: 1, day: 24 },
);

export const MODELS = inBranches(
  { key: MODEL_KEY, dimensions: MODEL_SQL, texts: [] },
  { hour: -1, day: -24 },
);

/** The offset into a day of the instant that decides its bucket: its first or its last millisecond. */
const SHIFTS = { first: "interval '0'", last: "interval '1 day' - interval '1 millisecond'" } as const;

/**
 * Returns the source of sums by hour and by day, in which the days of `unsummedDays` are read from requests. A day that belongs to two
 * buckets is put into one of them, and its hours that belong to the other are moved there.
 */
function ofSums(
  workspaceId: string,
  plan: UsagePlan,
  { span, buckets, sums, dimensions }: SourceQuery,
  tables: SumTables,
  unsummedDays: readonly Millis[],
): Source {
  const bounds = buckets.slice(1).map(({ from }) => from);
  const { summed, unsummed } = splitByDays(span, unsummedDays);
  const spans = summed.map((each) => usageSpans(each, spanUnit(bounds)));
  const days = spans.flatMap((each) => each.days ?? []);
  const moved = findMovedHours(days, bounds);
  const rows = [
    ...spans.flatMap((each) => each.rows),
    ...unsummed.map((each) => ({ ...each, sign: 1 as const })),
  ];
  const edges = rows.map(
    (each, at) => sql`${sql.raw(`edge_${at}`)} as (
      select * from requests where ${isWithin(workspaceId, "requested_at", each)}), `,
  );
  const parts = selectParts(workspaceId, tables, {
    days,
    hours: spans.flatMap(({ hours }) => hours),
    rows,
    moved,
    refused: sums.includes("blocked") ? span : null,
  });
  const columns = Object.keys(dimensions).map((column) => sql.raw(column));
  const own = list([
    ...selectDimensions(dimensions, tables.dimensions),
    ...selectSums(sums, (sum) => OF_ROLLUP[sum]),
  ]);
  const filters = matchFilters(plan.query.filters, tables.dimensions);
  return {
    tables: sql`${sql.join(edges, sql``)} parts as (${sql.join(parts, sql` union all `)}), ${
      buckets.length === 0
        ? sql`source as (select null::integer as bucket, ${own} from parts where true ${filters})`
        : sql`hours as (
            select hour, is_moved, ${list([...columns, ...selectSums(sums, (sum) => `sum(${sum})`)])}
            from (select hour, is_moved, ${own} from parts where true ${filters}) as filtered
            group by ${list([sql.raw("hour, is_moved"), ...columns])}
          ),
          source as (${selectBuckets(buckets, sums, columns, moved)})`
    }`,
    // The rollups do not tell an unknown count from 0, so 0 is unknown.
    sums: list(
      selectSums(sums, (sum) => (isTokenSum(sum) ? `nullif(sum(${sum}), 0)::text` : `sum(${sum})::text`)),
    ),
  };
}

/** Selects the rows of sums and requests, each with its hour; a day has the hour that puts it into its bucket. */
function selectParts(
  workspaceId: string,
  { key, texts, ...tables }: SumTables,
  parts: {
    readonly days: readonly Span[];
    readonly hours: readonly Span[];
    readonly rows: readonly (Span & { readonly sign: 1 | -1 })[];
    readonly moved: MovedHours;
    /** The period whose refused calls are counted; null for none. */
    readonly refused: Span | null;
  },
): RawBuilder<unknown>[] {
  const { moved } = parts;
  const columns = (hour: string, isMoved = false) =>
    sql.raw(`${hour} as hour, ${isMoved} as is_moved, ${key}, ${REPORTED_OF_ROLLUP}`);
  const { hours, days } = tables;
  const ofHours = (isMoved: boolean, where: RawBuilder<unknown>) =>
    sql`select ${columns(hours.time, isMoved)} from ${sql.raw(hours.from)} where ${where} and ${sql.raw(hours.where)}`;
  return [
    // Always present, so that an empty period is a valid query too.
    ...(parts.days.length === 0 ? [{ from: 0, to: 0 }] : parts.days).map(
      (span) =>
        sql`select ${columns(`${days.time} + ${SHIFTS[moved.dayIsIn]}`)} from ${sql.raw(days.from)}
          where ${tables.isDayWithin(workspaceId, span)}`,
    ),
    ...parts.hours.map((span) => ofHours(false, isWithin(workspaceId, hours.time, span))),
    ...(moved.hours.length === 0 ? [] : [ofHours(true, isAnyOf(workspaceId, hours.time, moved.hours))]),
    ...parts.rows.map(
      ({ sign, ...each }, at) =>
        sql`select ${columns("hour")} from (${sql.raw(summedContributions(`edge_${at}`, sign, texts, isWithinHour(each)))}) as e`,
    ),
    ...(parts.refused === null ? [] : [selectRefused(workspaceId, parts.refused, { key, texts })]),
  ];
}

const selectRefused = (
  workspaceId: string,
  span: Span,
  { key, texts }: Pick<SumTables, "key" | "texts">,
): RawBuilder<unknown> =>
  sql`select ${sql.raw(`hour, false as is_moved, ${key}, ${REPORTED_OF_REFUSED}`)} from (
    select ${sql.raw(rollupKeyOf(texts))} from requests
    where ${isWithin(workspaceId, "requested_at", span)} and blocked_by is not null) as refused`;

/** Puts the sums of hours and days into buckets, and takes the moved hours out of the buckets of their days. */
function selectBuckets(
  buckets: readonly Span[],
  sums: readonly Sum[],
  columns: readonly RawBuilder<unknown>[],
  { hours, dayIsIn }: MovedHours,
): RawBuilder<unknown> {
  const own = (hour: string, sign: "" | "-") =>
    list([sql`${bucketSql(hour, buckets)} as bucket`, ...columns, ...selectSums(sums, (sum) => sign + sum)]);
  const added = sql`select ${own("hour", "")} from hours`;
  if (hours.length === 0) return added;
  const day = `date_trunc('day', hour, 'UTC') + ${SHIFTS[dayIsIn]}`;
  return sql`${added} union all select ${own(day, "-")} from hours where is_moved`;
}
