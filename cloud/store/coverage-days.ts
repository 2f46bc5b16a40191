import { type RawBuilder, sql, type Transaction } from "kysely";
import { DAY_MS, HOUR_MS, type Millis } from "../../core/values/time.ts";
import { formatInstant } from "../../core/wire/instant.ts";
import { expectRows } from "./affected-rows.ts";
import type { CloudDatabase } from "./open-database.ts";
import type { CloudSchema } from "./schema.ts";
import { endTask, type Task } from "./tasks.ts";
import { inScope } from "./transaction.ts";

const dayOf = (at: Millis): Millis => Math.floor(at / DAY_MS) * DAY_MS;

/** Sums up the days that contain some hours of a machine. The caller has locked the machine's row, so that no other upload changes its hours. */
export async function sumDaysOf(
  trx: Transaction<CloudSchema>,
  workspaceId: string,
  machineId: string,
  hours: readonly Millis[],
): Promise<void> {
  const days = [...new Set(hours.map(dayOf))];
  if (days.length === 0) return;
  const all = days.flatMap((day) =>
    Array.from({ length: DAY_MS / HOUR_MS }, (_, hour) => formatInstant(day + hour * HOUR_MS)),
  );
  // One search of the key for each hour: its days have the hours of all machines together.
  const affected = await sumDays(
    trx,
    workspaceId,
    sql`h.machine_id = ${machineId}::uuid
      and h.hour in (select value::timestamptz from json_array_elements_text(${JSON.stringify(all)}::text::json))`,
  );
  expectRows(affected, days.length);
}

/** Stores the sums of the days of the hours for which a condition holds. Returns how many it stored. Reads the workspace as `insertRows()` does. */
async function sumDays(
  trx: Transaction<CloudSchema>,
  workspaceId: string,
  matches: RawBuilder<unknown>,
): Promise<bigint | undefined> {
  const day = sql.raw("(h.hour at time zone 'UTC')::date");
  const within = sql`h.workspace_id = ${workspaceId}::uuid and ${matches}`;
  const { numAffectedRows } = await sql`
    insert into coverage_days (workspace_id, day, machine_id, metered, seen, counts)
    select w.workspace_id, s.day, s.machine_id, s.metered, s.seen, coalesce(k.counts, '{}')
    from workspaces w cross join (
      select ${day} as day, h.machine_id, sum(h.metered) as metered, sum(h.seen) as seen
      from coverage_hours h where ${within} group by 1, 2
    ) as s left join (
      select day, machine_id, jsonb_object_agg(kind, jsonb_build_object('count', count, 'hour', hour)) as counts
      from (
        select ${day} as day, h.machine_id, c.kind, sum(c.count::bigint) as count,
          to_char(max(h.hour) at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as hour
        from coverage_hours h cross join lateral jsonb_each_text(h.counts) as c (kind, count) where ${within} group by 1, 2, 3
      ) as kinds group by 1, 2
    ) as k using (day, machine_id)
    where w.workspace_id = ${workspaceId}::uuid
    order by s.day, s.machine_id
    on conflict (workspace_id, day, machine_id) do update
      set metered = excluded.metered, seen = excluded.seen, counts = excluded.counts`.execute(trx);
  return numAffectedRows;
}

/**
 * Sums up all days before yesterday again. Processes of the previous version store hours without these sums until they are replaced; the
 * days since yesterday are summed up with each upload.
 */
export async function sumCoverage(db: CloudDatabase, task: Task<"sum_coverage">, now: Millis): Promise<void> {
  const workspaceId = task.taskId;
  const end = dayOf(now) - DAY_MS;
  const days = await inScope(db, { workspaceId }, async (trx) => {
    const { rows } = await sql<{ day: string; machines: number }>`
      select (hour at time zone 'UTC')::date::text as day, count(distinct machine_id)::integer as machines from coverage_hours
      where workspace_id = ${workspaceId}::uuid and hour < ${formatInstant(end)}::timestamptz group by 1 order by 1`.execute(
      trx,
    );
    return rows;
  });
  for (const { day, machines } of days) {
    await inScope(db, { workspaceId }, async (trx) => {
      const of = sql`h.hour >= (${day}::date)::timestamp at time zone 'UTC' and h.hour < (${day}::date + 1)::timestamp at time zone 'UTC'`;
      expectRows(await sumDays(trx, workspaceId, of), machines);
    });
  }
  await endTask(db, task);
}
