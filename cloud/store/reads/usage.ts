import { type RawBuilder, sql, type Transaction } from "kysely";
import type { Millis } from "../../../core/time.ts";
import { formatCalendarDate, formatInstant, type UsageTotals } from "../../../core/wire/mod.ts";
import { contributions, USAGE_SUMS } from "../rollups.ts";
import type { CloudSchema } from "../schema.ts";
import { type Span, usageSpans } from "./usage-spans.ts";

/** What the rollups keep usage apart by. */
export type UsageDimension = "machine_id" | "user_id" | "project" | "provider" | "model";

/** What a group is one value of each of; empty for the group of everything. */
export type UsageSet = readonly (UsageDimension | "bucket")[];

const TYPES: Readonly<Record<UsageSet[number], string>> = {
  bucket: "timestamptz",
  machine_id: "uuid",
  user_id: "text",
  project: "text",
  provider: "text",
  model: "text",
};

/** A group's sums, as text: they may be larger than a double holds. */
type Sums = Record<(typeof USAGE_SUMS)[number], string>;

/** What to add up. */
export interface UsageQuestion extends Span {
  readonly workspaceId: string;
  readonly bucket: "hour" | "day";
  /**
   * The groups wanted, each by these dimensions and, where `bucket` is among them, by time. The rollups' rows are added up
   * once for each family, by all that its sets name, and its sets are made of that: what belongs together is of few values.
   */
  readonly families: readonly (readonly UsageSet[])[];
  /** Of each dimension only so many values, the costliest, get groups of their own. Sums over them all leave none out. */
  readonly maxValues: number;
}

/** The sums of one group. A dimension by which it is not grouped is null, and so is the bucket. */
export interface UsageGroup {
  /** Which of the question's sets it is of, counted through all families. */
  readonly set: number;
  readonly bucket: Millis | null;
  readonly machine_id: string | null;
  readonly user_id: string | null;
  readonly project: string | null;
  readonly provider: string | null;
  readonly model: string | null;
  readonly totals: UsageTotals;
}

const SUMMED = USAGE_SUMS.map((sum) => `sum(${sum}) as ${sum}`).join(", ");

/** Adds up usage in one statement, so that all sums are of one moment. */
export async function readUsage(
  trx: Transaction<CloudSchema>,
  question: UsageQuestion,
): Promise<readonly UsageGroup[]> {
  const { families, maxValues } = question;
  const columns = [...new Set(families.flat(2))].sort();
  const asked = families.map((sets) => {
    const named = columns.filter((column) => sets.some((set) => set.includes(column)));
    return { sets, named, family: maskOf(columns, named) };
  });
  const { rows } = await sql<
    { family: number; mask: number; bucket?: Millis } & Partial<Record<UsageDimension, string>> & Sums
  >`
    with ${partsOf(question)},
    source as (
      select ${sql.raw(`grouping(${columns.join(", ")}) as family, ${columns.join(", ")}, ${SUMMED}`)} from parts
      group by ${sql.raw(groupingSets(asked.map(({ named }) => named)))}
    )
    ${sql.raw(asked.map((each) => groupsOf(each, columns, maxValues)).join(" union all "))}`.execute(trx);
  const sets = asked.flatMap(({ sets, named, family }) =>
    sets.map((set) => `${family} ${maskOf(named, set)}`),
  );
  return rows.map((row) => ({
    set: sets.indexOf(`${row.family} ${row.mask}`),
    bucket: row.bucket ?? null,
    machine_id: row.machine_id ?? null,
    user_id: row.user_id ?? null,
    project: row.project ?? null,
    provider: row.provider ?? null,
    model: row.model ?? null,
    totals: toTotals(row),
  }));
}

/** A family, all that its sets name, and the number by which its rows in `source` are told. */
interface AskedFamily {
  readonly sets: readonly UsageSet[];
  readonly named: UsageSet;
  readonly family: number;
}

/** The select of one family's groups from `source`, where its rows are told by what they are grouped by. */
function groupsOf({ sets, named, family }: AskedFamily, columns: UsageSet, maxValues: number): string {
  const list = columns.map((column) =>
    named.includes(column) ? column : `null::${TYPES[column]} as ${column}`,
  );
  const isTop = named
    .filter((column) => column !== "bucket")
    .map(
      (column) => `and (grouping(${column}) = 1 or ${column} in (
        select ${column} from source where family = ${family} group by ${column}
        order by sum(cost_pico_usd) desc, sum(requests) desc, ${column} limit ${maxValues}))`,
    );
  return `select ${family} as family, grouping(${named.join(", ")})::integer as mask, ${list.join(", ")}, ${SUMMED}
    from source where family = ${family} group by ${groupingSets(sets)}
    having sum(requests) > 0 ${isTop.join(" ")}`;
}

function groupingSets(sets: readonly UsageSet[]): string {
  return `grouping sets (${sets.map((set) => `(${set.join(", ")})`).join(", ")})`;
}

/** What PostgreSQL's `grouping()` of the columns says of a row of that set: a bit for each that it is not grouped by. */
function maskOf(columns: UsageSet, set: UsageSet): number {
  return columns.reduce((mask, column) => mask * 2 + (set.includes(column) ? 0 : 1), 0);
}

/** The common table expression `parts`: rows of the rollups, and what the period's edges add or take. */
function partsOf({ workspaceId, from, to, bucket }: UsageQuestion): RawBuilder<unknown> {
  const { days, hours, rows } = usageSpans({ from, to }, bucket);
  const columns = (time: string) =>
    sql.raw(`${time} as bucket, machine_id, user_id, project, provider, model, ${USAGE_SUMS.join(", ")}`);
  const ofHours = columns(bucket === "hour" ? "hour::timestamptz" : "date_trunc('day', hour, 'UTC')");
  const ofDays = columns("day::timestamp at time zone 'UTC'");
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
    // Always there, so that a period of nothing is a question too.
    sql`select ${ofDays} from usage_daily ${within(
      "day",
      "date",
      formatCalendarDate(days?.from ?? 0),
      formatCalendarDate(days?.to ?? 0),
    )}`,
    ...hours.map((span) => sql`select ${ofHours} from usage_hourly ${instants("hour", span)}`),
    ...rows.map(
      ({ sign }, at) => sql`select ${ofHours} from (${sql.raw(contributions(`edge_${at}`, sign))}) as e`,
    ),
  ];
  return sql`${sql.join(edges, sql``)} parts as (${sql.join(parts, sql` union all `)})`;
}

/** The sums of nothing. */
export const NO_USAGE: UsageTotals = toTotals(
  Object.fromEntries(USAGE_SUMS.map((sum) => [sum, "0"])) as Sums,
);

function toTotals(sums: Sums): UsageTotals {
  // Beyond 2^53 tokens the wire has no number; nobody has used as many.
  const count = (sum: string) => Math.min(Number(sum), Number.MAX_SAFE_INTEGER);
  return {
    requests: count(sums.requests),
    failed_requests: count(sums.failed_requests),
    prompt_tokens: count(sums.prompt_tokens),
    completion_tokens: count(sums.completion_tokens),
    cache_read_tokens: count(sums.cache_read_tokens),
    cache_write_tokens: count(sums.cache_write_tokens),
    thinking_tokens: count(sums.thinking_tokens),
    cost_pico_usd: sums.cost_pico_usd,
    unpriced_requests: count(sums.unpriced_requests),
    incomplete_requests: count(sums.incomplete_requests),
  };
}
