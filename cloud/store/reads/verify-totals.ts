import { sql, type Transaction } from "kysely";
import { DAY_MS } from "../../../core/values/time.ts";
import { listUnsummedDays } from "../branch-sums.ts";
import { BRANCH_KEY, contributions, ROLLUP_KEY, ROLLUP_SUMS, USAGE_SUMS } from "../rollups.ts";
import type { CloudSchema } from "../schema.ts";

/** Runs a read in a short transaction. */
type InPage = <T>(read: (trx: Transaction<CloudSchema>) => Promise<T>) => Promise<T>;

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
}

const OF_MACHINES = { key: ROLLUP_KEY, sums: ROLLUP_SUMS, texts: [], where: "true" };

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

const OF_BRANCHES = { key: BRANCH_KEY, sums: USAGE_SUMS, texts: ["git_branch"], format: INSTANT };

/** Compared only on days that are summed up by branch: on others, reports read the requests. */
const BRANCH_ROLLUPS: readonly Rollup[] = [
  { table: "usage_branches", time: "starts_at", ofHour: "hour", where: "span_hours = 1", ...OF_BRANCHES },
  {
    table: "usage_branches",
    time: "starts_at",
    ofHour: "date_trunc('day', hour, 'UTC')",
    where: "span_hours = 24",
    ...OF_BRANCHES,
  },
];

/** Compares the totals with the sums of the requests, one UTC day at a time. Describes the first total that differs. */
export async function findWrongTotal(inPage: InPage, workspaceId: string): Promise<string | null> {
  let day: string | null = "-infinity";
  for (;;) {
    const after: string = day;
    day = await inPage((trx) => nextDay(trx, workspaceId, after));
    if (day === null) return null;
    const on: string = day;
    const from = Date.parse(`${on}T00:00:00Z`);
    const unsummed = await inPage((trx) => listUnsummedDays(trx, workspaceId, { from, to: from + DAY_MS }));
    for (const rollup of [...ROLLUPS, ...(unsummed.length === 0 ? BRANCH_ROLLUPS : [])]) {
      const wrong = await inPage((trx) => findWrongTotalOn(trx, workspaceId, rollup, on));
      if (wrong !== null) return wrong;
    }
  }
}

/** Returns the first day after another that has requests or totals. */
async function nextDay(
  trx: Transaction<CloudSchema>,
  workspaceId: string,
  day: string,
): Promise<string | null> {
  const inWorkspace = sql`workspace_id = ${workspaceId}::uuid`;
  const from = sql`((${day}::date + 1)::timestamp at time zone 'UTC')`;
  const { rows } = await sql<{ day: string | null }>`select min(day)::text as day from (
      select (min(requested_at) at time zone 'UTC')::date as day from requests
        where ${inWorkspace} and requested_at >= ${from}
      union all select (min(hour) at time zone 'UTC')::date from usage_hourly where ${inWorkspace} and hour >= ${from}
      union all select (min(starts_at) at time zone 'UTC')::date from usage_branches
        where ${inWorkspace} and span_hours = 1 and starts_at >= ${from}
      union all select (min(starts_at) at time zone 'UTC')::date from usage_branches
        where ${inWorkspace} and span_hours = 24 and starts_at >= ${from}
      union all select min(day) from usage_daily where ${inWorkspace} and day > ${day}::date
    ) as days`.execute(trx);
  return rows[0]?.day ?? null;
}

interface WrongTotal {
  readonly at: string;
  readonly sums: readonly string[];
  readonly machine_id?: string;
  readonly user_id?: string;
  readonly git_branch?: string;
  readonly project: string;
  readonly provider: string;
  readonly model: string;
}

async function findWrongTotalOn(
  trx: Transaction<CloudSchema>,
  workspaceId: string,
  { table, time, ofHour, format, key, sums: ownSums, texts, where }: Rollup,
  day: string,
): Promise<string | null> {
  const inWorkspace = sql`workspace_id = ${workspaceId}::uuid`;
  const from = sql`(${day}::date::timestamp at time zone 'UTC')`;
  const until = sql`((${day}::date + 1)::timestamp at time zone 'UTC')`;
  const onDay =
    time === "day"
      ? sql`day = ${day}::date`
      : sql`${sql.ref(time)} >= ${from} and ${sql.ref(time)} < ${until}`;
  const sums = ownSums.map((sum) => `sum(${sum}) as ${sum}`).join(", ");
  const wrong = ownSums.map(
    (sum) => `case when coalesce(e.${sum}, 0) <> coalesce(k.${sum}, 0) then '${sum}' end`,
  );
  const { rows } = await sql<WrongTotal>`
    with own as (
      select * from requests where ${inWorkspace} and requested_at >= ${from} and requested_at < ${until}
    ),
    contributed as (${sql.raw(contributions("own", 1, texts))}),
    expected as (
      select ${sql.raw(`${ofHour} as "time", ${key}, ${sums}`)} from contributed
      group by ${sql.raw(`${ofHour}, ${key}`)}
    ),
    kept as (
      select ${sql.raw(`${time} as "time", ${key}, ${ownSums.join(", ")}`)} from ${sql.table(table)}
      where ${inWorkspace} and ${onDay} and ${sql.raw(where)}
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
  return `${sums.join(", ")} in ${table} at ${at}: ${owner}, project ${JSON.stringify(project)}, ${provider}/${model}`;
}
