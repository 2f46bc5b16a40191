import { sql, type Transaction } from "kysely";
import { DAY_MS, HOUR_MS, type Millis } from "../../core/values/time.ts";
import { formatCalendarDate, formatInstant } from "../../core/wire/instant.ts";
import type { CloudDatabase } from "./open-database.ts";
import type { Span } from "./reads/usage-spans.ts";
import { BRANCH_KEY, contributions, USAGE_SUMS } from "./rollups.ts";
import type { CloudSchema } from "./schema.ts";
import { endTask, postponeTask, type Task } from "./tasks.ts";
import { inScope, lockWorkspace } from "./transaction.ts";

/** A span that contains every request. */
const ALL_TIME: Span = { from: Date.parse("0001-01-01T00:00:00Z"), to: Date.UTC(9999, 0, 1) };

/**
 * When a workspace whose days were not all summed is checked again: processes of the previous version may still run.
 */
const LOOK_AGAIN_MS = DAY_MS;

/**
 * Lists the UTC days of a span whose sums by branch are not those of all requests, by their beginnings: days from before these sums
 * existed, and days on which a process of the previous version stored requests. Compares them with the daily rollup, which does not show
 * if that process added a branch, and nothing else, to a stored request.
 */
export async function listUnsummedDays(
  trx: Transaction<CloudSchema>,
  workspaceId: string,
  { from, to }: Span,
): Promise<readonly Millis[]> {
  const sums = (select: (sum: string) => string) => sql.raw(USAGE_SUMS.map(select).join(", "));
  const { rows } = await sql<{ starts_at: Millis }>`
    select starts_at from (
      select starts_at, ${sums((sum) => `sum(${sum}) as ${sum}`)} from usage_branches
      where workspace_id = ${workspaceId}::uuid and span_hours = 24
        and starts_at >= date_trunc('day', ${formatInstant(from)}::timestamptz, 'UTC') and starts_at < ${formatInstant(to)}::timestamptz
      group by starts_at
    ) as b full join (
      select day::timestamp at time zone 'UTC' as starts_at, ${sums((sum) => `sum(${sum}) as ${sum}`)} from usage_daily
      where workspace_id = ${workspaceId}::uuid
        and day >= ${formatCalendarDate(from)}::date and day <= ${formatCalendarDate(to - 1)}::date
      group by day
    ) as d using (starts_at)
    where (${sums((sum) => `coalesce(b.${sum}, 0)`)}) <> (${sums((sum) => `coalesce(d.${sum}, 0)`)})
    order by starts_at`.execute(trx);
  return rows.map(({ starts_at }) => starts_at);
}

/**
 * Sums up the days of a workspace that are not summed by branch. The task ends if there was none; otherwise it runs again after a day.
 */
export async function sumBranches(db: CloudDatabase, task: Task<"sum_branches">, now: Millis): Promise<void> {
  const workspaceId = task.taskId;
  // In the purge's role, which may delete the rows of branches that the deletion of a person has left empty.
  const run = <T>(work: (trx: Transaction<CloudSchema>) => Promise<T>) =>
    inScope(db, { workspaceId, readsThenWrites: true }, work, "meter_purge");
  const days = await run((trx) => listUnsummedDays(trx, workspaceId, ALL_TIME));
  for (const day of days) await run((trx) => addMissing(trx, workspaceId, day));
  await (days.length === 0 ? endTask(db, task) : postponeTask(db, task, now + LOOK_AGAIN_MS));
}

/**
 * Adds the difference between the requests of a day and its sums. What others add meanwhile is in both, so the difference stays correct. Reads the
 * workspace as `insertRows()` does.
 */
async function addMissing(trx: Transaction<CloudSchema>, workspaceId: string, day: Millis): Promise<void> {
  // Two processes would add the same difference. Each may be connected to another node of a cluster, where an advisory lock excludes nobody.
  await lockWorkspace(trx, workspaceId);
  const [from, to] = [formatInstant(day), formatInstant(day + DAY_MS)];
  const key = `span_hours, starts_at, ${BRANCH_KEY}`;
  const list = (select: (sum: string) => string) => USAGE_SUMS.map(select).join(", ");
  const own = `(${contributions("own", 1, ["git_branch"])}) as r`;
  await sql`
    insert into usage_branches (workspace_id, ${sql.raw(`${key}, ${USAGE_SUMS.join(", ")}`)})
    with own as (
      select * from requests where workspace_id = ${workspaceId}::uuid
        and requested_at >= ${from}::timestamptz and requested_at < ${to}::timestamptz
    )
    select w.workspace_id, ${sql.raw(`${key}, ${list((sum) => `sum(${sum})`)}`)} from workspaces w cross join (
      ${sql.raw(`select 1 as span_hours, hour as starts_at, ${BRANCH_KEY}, ${USAGE_SUMS.join(", ")} from ${own}`)}
      union all
      ${sql.raw(`select 24, date_trunc('day', hour, 'UTC'), ${BRANCH_KEY}, ${USAGE_SUMS.join(", ")} from ${own}`)}
      union all
      select ${sql.raw(`${key}, ${list((sum) => `-${sum}`)}`)} from usage_branches
        where workspace_id = ${workspaceId}::uuid and span_hours in (1, 24)
          and starts_at >= ${from}::timestamptz and starts_at < ${to}::timestamptz
    ) as difference
    where w.workspace_id = ${workspaceId}::uuid
    group by w.workspace_id, ${sql.raw(`${key} having (${list((sum) => `sum(${sum})`)}) <> (${list(() => "0")})`)}
    order by ${sql.raw(key)}
    on conflict (workspace_id, ${sql.raw(key)}) do update set
      ${sql.raw(list((sum) => `${sum} = usage_branches.${sum} + excluded.${sum}`))}`.execute(trx);
  const hours = Array.from({ length: 24 }, (_, hour) => formatInstant(day + hour * HOUR_MS));
  await deleteEmptyBranches(trx, workspaceId, hours);
}

/** Deletes the rows of some hours and days without requests. All their sums are 0. */
export async function deleteEmptyBranches(
  trx: Transaction<CloudSchema>,
  workspaceId: string,
  startsAt: readonly string[],
): Promise<void> {
  await sql`delete from usage_branches where workspace_id = ${workspaceId}::uuid and span_hours in (1, 24) and requests = 0
    and starts_at in (select value::timestamptz from json_array_elements_text(${JSON.stringify(startsAt)}::text::json))`.execute(
    trx,
  );
}
