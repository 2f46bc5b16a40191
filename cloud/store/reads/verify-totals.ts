import { sql, type Transaction } from "kysely";
import { type CalendarDate, DAY_MS, type Millis } from "../../../core/values/time.ts";
import { formatCalendarDate } from "../../../core/wire/instant.ts";
import { listUnsummedDays } from "../branch-sums.ts";
import { hasModelSums } from "../model-sums.ts";
import { BRANCH_KEY, contributions, MODEL_KEY, ROLLUP_KEY, ROLLUP_SUMS, USAGE_SUMS } from "../rollups.ts";
import type { CloudSchema } from "../schema.ts";

/** Runs a read in a short transaction. */
type InPage = <T>(read: (trx: Transaction<CloudSchema>) => Promise<T>) => Promise<T>;

/** The most days that are compared at once, and the requests after which a later day begins another page. */
const PAGE_DAYS = 32;
const PAGE_REQUESTS = 20_000;

const INSTANT = `to_char("time" at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')`;

/** Totals: their table, its time column, and SQL for that time, computed from an hour and formatted as ISO 8601. */
interface Rollup {
  readonly table: string;
  readonly time: string;
  readonly ofHour: string;
  readonly format: string;
  /** The columns of its key besides the workspace and the time. */
  readonly key: string;
  readonly sums: readonly string[];
  /** The text columns of requests that only this key has. */
  readonly texts: readonly string[];
  /** The rows of the table that are compared. */
  readonly where: string;
  /** Whether only days are compared that are summed up by branch: on others, reports read the requests. */
  readonly isByBranch: boolean;
}

/** Whole UTC days: the first, and the one after the last. */
interface Days {
  readonly from: CalendarDate;
  readonly until: CalendarDate;
}

const OF_MACHINES = { key: ROLLUP_KEY, sums: ROLLUP_SUMS, texts: [], where: "true", isByBranch: false };

const ROLLUPS: readonly Rollup[] = [
  { table: "usage_hourly", time: "hour", ofHour: "hour", format: INSTANT, ...OF_MACHINES },
  {
    table: "usage_daily",
    time: "day",
    ofHour: "(hour at time zone 'UTC')::date",
    format: `"time"::text`,
    ...OF_MACHINES,
  },
];

/** The totals in `usage_branches`. `hour` and `day` are the `span_hours` of their rows. */
function inBranches(
  keys: Pick<Rollup, "key" | "texts" | "isByBranch">,
  { hour, day }: { readonly hour: number; readonly day: number },
): readonly Rollup[] {
  const own = { ...keys, table: "usage_branches", time: "starts_at", sums: USAGE_SUMS, format: INSTANT };
  return [
    { ...own, ofHour: "hour", where: `span_hours = ${hour}` },
    { ...own, ofHour: "date_trunc('day', hour, 'UTC')", where: `span_hours = ${day}` },
  ];
}

const BRANCH_ROLLUPS = inBranches(
  { key: BRANCH_KEY, texts: ["git_branch"], isByBranch: true },
  { hour: 1, day: 24 },
);

/** They are compared only while they are complete: otherwise reports read the other totals. */
const MODEL_ROLLUPS = inBranches({ key: MODEL_KEY, texts: [], isByBranch: false }, { hour: -1, day: -24 });

/** Compares the totals with the sums of the requests, a page of days at a time. Describes the first total that differs. */
export async function findWrongTotal(inPage: InPage, workspaceId: string): Promise<string | null> {
  let from = "-infinity";
  for (;;) {
    const start: string = from;
    const days = await inPage((trx) => nextDays(trx, workspaceId, start));
    if (days === null) return null;
    const span = { from: toInstant(days.from), to: toInstant(days.until) };
    const unsummed = (await inPage((trx) => listUnsummedDays(trx, workspaceId, span))).map(
      formatCalendarDate,
    );
    for (const rollup of [...ROLLUPS, ...BRANCH_ROLLUPS]) {
      const wrong = await inPage((trx) => findWrongTotalOn(trx, workspaceId, rollup, days, unsummed));
      if (wrong !== null) return wrong;
    }
    for (const rollup of MODEL_ROLLUPS) {
      const wrong = await inPage(async (trx) => {
        const found = await findWrongTotalOn(trx, workspaceId, rollup, days, []);
        return found !== null && (await hasModelSums(trx, workspaceId)) ? found : null;
      });
      if (wrong !== null) return wrong;
    }
    from = days.until;
  }
}

const toInstant = (date: CalendarDate): Millis => Date.parse(`${date}T00:00:00Z`);

/** Returns the next days from a day on, beginning with the first that has requests or totals. Null if there is none. */
async function nextDays(
  trx: Transaction<CloudSchema>,
  workspaceId: string,
  day: string,
): Promise<Days | null> {
  const first = await firstDay(trx, workspaceId, day);
  if (first === null) return null;
  const from = toInstant(first);
  const { rows } = await sql<{ day: string }>`select (requested_at at time zone 'UTC')::date::text as day
    from requests where workspace_id = ${workspaceId}::uuid and requested_at >= ${first}::date::timestamp at time zone 'UTC'
    order by requested_at limit 1 offset ${PAGE_REQUESTS}::bigint`.execute(trx);
  const full = rows[0] === undefined ? Number.POSITIVE_INFINITY : toInstant(rows[0].day);
  // At least one day, however many requests it has.
  const until = Math.max(from + DAY_MS, Math.min(from + PAGE_DAYS * DAY_MS, full));
  return { from: first, until: formatCalendarDate(until) };
}

async function firstDay(
  trx: Transaction<CloudSchema>,
  workspaceId: string,
  day: string,
): Promise<CalendarDate | null> {
  const inWorkspace = sql`workspace_id = ${workspaceId}::uuid`;
  const from = sql`(${day}::date::timestamp at time zone 'UTC')`;
  const { rows } = await sql<{ day: string | null }>`select min(day)::text as day from (
      select (min(requested_at) at time zone 'UTC')::date as day from requests
        where ${inWorkspace} and requested_at >= ${from}
      union all select (min(hour) at time zone 'UTC')::date from usage_hourly where ${inWorkspace} and hour >= ${from}
      union all select (min(starts_at) at time zone 'UTC')::date from usage_branches
        where ${inWorkspace} and span_hours = 1 and starts_at >= ${from}
      union all select (min(starts_at) at time zone 'UTC')::date from usage_branches
        where ${inWorkspace} and span_hours = 24 and starts_at >= ${from}
      union all select (min(starts_at) at time zone 'UTC')::date from usage_branches
        where ${inWorkspace} and span_hours = -1 and starts_at >= ${from}
      union all select (min(starts_at) at time zone 'UTC')::date from usage_branches
        where ${inWorkspace} and span_hours = -24 and starts_at >= ${from}
      union all select min(day) from usage_daily where ${inWorkspace} and day >= ${day}::date
    ) as days`.execute(trx);
  return rows[0]?.day ?? null;
}

interface WrongTotal {
  readonly at: string;
  readonly sums: readonly string[];
  readonly machine_id?: string;
  readonly user_id?: string;
  readonly git_branch?: string;
  readonly project?: string;
  readonly provider: string;
  readonly model: string;
}

async function findWrongTotalOn(
  trx: Transaction<CloudSchema>,
  workspaceId: string,
  { table, time, ofHour, format, key, sums: ownSums, texts, where, isByBranch }: Rollup,
  days: Days,
  unsummed: readonly CalendarDate[],
): Promise<string | null> {
  const inWorkspace = sql`workspace_id = ${workspaceId}::uuid`;
  const from = sql`(${days.from}::date::timestamp at time zone 'UTC')`;
  const until = sql`(${days.until}::date::timestamp at time zone 'UTC')`;
  const onDays =
    time === "day"
      ? sql`day >= ${days.from}::date and day < ${days.until}::date`
      : sql`${sql.ref(time)} >= ${from} and ${sql.ref(time)} < ${until}`;
  const isSummed = (column: string) =>
    isByBranch && unsummed.length > 0
      ? sql`and (${sql.ref(column)} at time zone 'UTC')::date not in (${sql.join(unsummed.map((day) => sql`${day}::date`))})`
      : sql``;
  const sums = ownSums.map((sum) => `sum(${sum}) as ${sum}`).join(", ");
  const wrong = ownSums.map(
    (sum) => `case when coalesce(e.${sum}, 0) <> coalesce(k.${sum}, 0) then '${sum}' end`,
  );
  const { rows } = await sql<WrongTotal>`
    with own as (
      select * from requests where ${inWorkspace} and requested_at >= ${from} and requested_at < ${until}
        ${isSummed("requested_at")}
    ),
    contributed as (${sql.raw(contributions("own", 1, texts))}),
    expected as (
      select ${sql.raw(`${ofHour} as "time", ${key}, ${sums}`)} from contributed
      group by ${sql.raw(`${ofHour}, ${key}`)}
    ),
    kept as (
      select ${sql.raw(`${time} as "time", ${key}, ${ownSums.join(", ")}`)} from ${sql.table(table)}
      where ${inWorkspace} and ${onDays} and ${sql.raw(where)} ${isSummed(time)}
    ),
    compared as (
      select "time", ${sql.raw(key)}, array_remove(array[${sql.raw(wrong.join(", "))}], null) as sums
      from expected e full join kept k using ("time", ${sql.raw(key)})
    )
    select ${sql.raw(format)} as at, array_to_json(sums) as sums, ${sql.raw(key)} from compared
    where sums <> '{}' order by "time", ${sql.raw(key)} limit 1`.execute(trx);
  return rows[0] === undefined ? null : describeTotal(table, rows[0]);
}

function describeTotal(table: string, total: WrongTotal): string {
  const {
    at,
    sums,
    machine_id: machine,
    user_id: user,
    git_branch: branch,
    project,
    provider,
    model,
  } = total;
  const owner =
    branch === undefined ? `machine ${machine}, user ${user}` : `branch ${JSON.stringify(branch)}`;
  const place = project === undefined ? "" : `${owner}, project ${JSON.stringify(project)}, `;
  return `${sums.join(", ")} in ${table} at ${at}: ${place}${provider}/${model}`;
}
