import { sql, type Transaction } from "kysely";
import { contributions, ROLLUP_KEY, ROLLUP_SUMS } from "../rollups.ts";
import type { CloudSchema } from "../schema.ts";

/** Runs a read in a short transaction. */
type InPage = <T>(read: (trx: Transaction<CloudSchema>) => Promise<T>) => Promise<T>;

/** A rollup: its table, its time column, and SQL for that time, computed from an hour and formatted as ISO 8601. */
const ROLLUPS = [
  {
    table: "usage_hourly",
    time: "hour",
    ofHour: "hour",
    format: `to_char("time" at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')`,
  },
  { table: "usage_daily", time: "day", ofHour: "(hour at time zone 'UTC')::date", format: `"time"::text` },
] as const;

type Rollup = (typeof ROLLUPS)[number];

/** Compares the totals with the sums of the requests, one UTC day at a time. Describes the first total that differs. */
export async function findWrongTotal(inPage: InPage, workspaceId: string): Promise<string | null> {
  let day: string | null = "-infinity";
  for (;;) {
    const after: string = day;
    day = await inPage((trx) => nextDay(trx, workspaceId, after));
    if (day === null) return null;
    for (const rollup of ROLLUPS) {
      const on: string = day;
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
      union all select min(day) from usage_daily where ${inWorkspace} and day > ${day}::date
    ) as days`.execute(trx);
  return rows[0]?.day ?? null;
}

interface WrongTotal {
  readonly at: string;
  readonly sums: readonly string[];
  readonly machine_id: string;
  readonly user_id: string;
  readonly project: string;
  readonly provider: string;
  readonly model: string;
}

async function findWrongTotalOn(
  trx: Transaction<CloudSchema>,
  workspaceId: string,
  { table, time, ofHour, format }: Rollup,
  day: string,
): Promise<string | null> {
  const inWorkspace = sql`workspace_id = ${workspaceId}::uuid`;
  const from = sql`(${day}::date::timestamp at time zone 'UTC')`;
  const until = sql`((${day}::date + 1)::timestamp at time zone 'UTC')`;
  const onDay = time === "hour" ? sql`hour >= ${from} and hour < ${until}` : sql`day = ${day}::date`;
  const sums = ROLLUP_SUMS.map((sum) => `sum(${sum}) as ${sum}`).join(", ");
  const wrong = ROLLUP_SUMS.map(
    (sum) => `case when coalesce(e.${sum}, 0) <> coalesce(k.${sum}, 0) then '${sum}' end`,
  );
  const { rows } = await sql<WrongTotal>`
    with own as (
      select * from requests where ${inWorkspace} and requested_at >= ${from} and requested_at < ${until}
    ),
    contributed as (${sql.raw(contributions("own", 1))}),
    expected as (
      select ${sql.raw(`${ofHour} as "time", ${ROLLUP_KEY}, ${sums}`)} from contributed
      group by ${sql.raw(`${ofHour}, ${ROLLUP_KEY}`)}
    ),
    kept as (
      select ${sql.raw(`${time} as "time", ${ROLLUP_KEY}, ${ROLLUP_SUMS.join(", ")}`)} from ${sql.table(table)}
      where ${inWorkspace} and ${onDay}
    ),
    compared as (
      select "time", ${sql.raw(ROLLUP_KEY)}, array_remove(array[${sql.raw(wrong.join(", "))}], null) as sums
      from expected e full join kept k using ("time", ${sql.raw(ROLLUP_KEY)})
    )
    select ${sql.raw(format)} as at, array_to_json(sums) as sums, ${sql.raw(ROLLUP_KEY)} from compared
    where sums <> '{}' order by "time", ${sql.raw(ROLLUP_KEY)} limit 1`.execute(trx);
  return rows[0] === undefined ? null : describeTotal(table, rows[0]);
}

function describeTotal(table: Rollup["table"], total: WrongTotal): string {
  const { at, sums, machine_id: machine, user_id: user, project, provider, model } = total;
  return `${sums.join(", ")} in ${table} at ${at}: machine ${machine}, user ${user}, project ${JSON.stringify(project)}, ${provider}/${model}`;
}
