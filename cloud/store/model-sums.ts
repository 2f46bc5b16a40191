import { sql, type Transaction } from "kysely";
import { DAY_MS, HOUR_MS, type Millis } from "../../core/values/time.ts";
import { formatInstant } from "../../core/wire/instant.ts";
import { expectRows } from "./affected-rows.ts";
import type { CloudDatabase } from "./open-database.ts";
import { USAGE_SUMS } from "./rollups.ts";
import type { CloudSchema } from "./schema.ts";
import { endTask, postponeTask, type Task } from "./tasks.ts";
import { inScope, lockWorkspace } from "./transaction.ts";

/**
 * When the sums of a workspace are tried again if they did not become complete, because processes of the previous version still run: in the
 * purge job's next run, which is an hour after the end of this one.
 */
const TRY_AGAIN_MS = HOUR_MS;

/**
 * Seals from one whose batch asks for the sums, if they are not complete, to the next. Asking is a transaction of its own. Odd, so that seals of
 * filled records, which do not ask, can't be all of those that would.
 */
const ASKING_INTERVAL = 61;

/** Whether the batch with this seal asks for the sums if they are not complete. The first one of a workspace does. */
export const isAskingSeal = (seq: string): boolean => Number(seq) % ASKING_INTERVAL === 1;

/**
 * Whether the sums by model are those of all requests. Each transaction that changes them appends a cost seal, and so does one of a process of
 * the previous version, which does not know them.
 */
export async function hasModelSums(trx: Transaction<CloudSchema>, workspaceId: string): Promise<boolean> {
  const { rows } = await sql<{ is_complete: boolean | null }>`
    select summed_seq = seq as is_complete from cost_seal_heads where workspace_id = ${workspaceId}::uuid`.execute(
    trx,
  );
  return rows[0]?.is_complete === true;
}

/** Asks for the sums by model of a workspace, where a process of the previous version stored requests. */
export async function askForModelSums(db: CloudDatabase, workspaceId: string, now: Millis): Promise<void> {
  await inScope(db, {}, (trx) =>
    sql`insert into tasks (kind, task_id, details, due_at)
      values ('sum_models', ${workspaceId}::uuid, '{}'::jsonb, ${now}::timestamptz) on conflict (kind, task_id) do nothing`.execute(
      trx,
    ),
  );
}

/**
 * Sums up the days of a workspace that are not summed by model. The task ends when they are complete. Batches wait for one day at a time, and
 * not for the comparison of all days: what processes of this version add meanwhile is summed already, and the seals show whether another
 * process added something.
 */
export async function sumModels(db: CloudDatabase, task: Task<"sum_models">, now: Millis): Promise<void> {
  const workspaceId = task.taskId;
  const run = <T>(work: (trx: Transaction<CloudSchema>) => Promise<T>) =>
    inScope(db, { workspaceId, readsThenWrites: true }, work);
  const unsummedSeals = await run((trx) => countUnsummedSeals(trx, workspaceId));
  const listDays = () => run((trx) => listUnsummedDays(trx, workspaceId));
  const days = await listDays();
  for (const day of days) await run((trx) => addMissing(trx, workspaceId, day));
  // A cluster can lose an insert without an error while a shard moves.
  const isSummed = days.length === 0 || (await listDays()).length === 0;
  const isComplete = isSummed && (await run((trx) => markComplete(trx, workspaceId, unsummedSeals)));
  await (isComplete ? endTask(db, task) : postponeTask(db, task, now + TRY_AGAIN_MS));
}

/**
 * Returns whether the sums by model are complete after the first seal of a workspace: requests from before there were seals may not be in
 * them. Records it if they are not.
 */
export async function checkFirstSums(trx: Transaction<CloudSchema>, workspaceId: string): Promise<boolean> {
  if ((await listUnsummedDays(trx, workspaceId)).length === 0) return true;
  const { numAffectedRows } =
    await sql`update cost_seal_heads set summed_seq = null where workspace_id = ${workspaceId}::uuid`.execute(
      trx,
    );
  expectRows(numAffectedRows, 1);
  return false;
}

/** Lists the UTC days whose sums by model are not those of the daily rollup, by their beginnings. */
async function listUnsummedDays(
  trx: Transaction<CloudSchema>,
  workspaceId: string,
): Promise<readonly Millis[]> {
  const list = (select: (sum: string) => string) => sql.raw(USAGE_SUMS.map(select).join(", "));
  const { rows } = await sql<{ starts_at: Millis }>`
    select starts_at from (
      select starts_at, provider, model, ${list((sum) => sum)} from usage_branches
        where workspace_id = ${workspaceId}::uuid and span_hours = -24
      union all
      select day::timestamp at time zone 'UTC', provider, model, ${list((sum) => `-${sum}`)} from usage_daily
        where workspace_id = ${workspaceId}::uuid
    ) as compared
    group by starts_at, provider, model having (${list((sum) => `sum(${sum})`)}) <> (${list(() => "0")})`.execute(
    trx,
  );
  return [...new Set(rows.map(({ starts_at }) => starts_at))].sort((one, other) => one - other);
}

/**
 * Adds the difference between the rollups of a day and its sums. What others add meanwhile is in both, so the difference stays correct. Reads the
 * workspace as `insertRows()` does.
 */
async function addMissing(trx: Transaction<CloudSchema>, workspaceId: string, day: Millis): Promise<void> {
  // Two processes would add the same difference. Each may be connected to another node of a cluster, where an advisory lock excludes nobody.
  await lockWorkspace(trx, workspaceId);
  const [from, to] = [formatInstant(day), formatInstant(day + DAY_MS)];
  const key = "span_hours, starts_at, provider, model";
  const list = (select: (sum: string) => string) => sql.raw(USAGE_SUMS.map(select).join(", "));
  await sql`
    insert into usage_branches (workspace_id, project, git_branch, ${sql.raw(key)}, ${list((sum) => sum)})
    select w.workspace_id, '', '', ${sql.raw(key)}, ${list((sum) => `sum(${sum})`)} from workspaces w cross join (
      select -1 as span_hours, hour as starts_at, provider, model, ${list((sum) => sum)} from usage_hourly
        where workspace_id = ${workspaceId}::uuid and hour >= ${from}::timestamptz and hour < ${to}::timestamptz
      union all
      select -24, day::timestamp at time zone 'UTC', provider, model, ${list((sum) => sum)} from usage_daily
        where workspace_id = ${workspaceId}::uuid and day = (${from}::timestamptz at time zone 'UTC')::date
      union all
      select ${sql.raw(key)}, ${list((sum) => `-${sum}`)} from usage_branches
        where workspace_id = ${workspaceId}::uuid and span_hours in (-1, -24)
          and starts_at >= ${from}::timestamptz and starts_at < ${to}::timestamptz
    ) as difference
    where w.workspace_id = ${workspaceId}::uuid
    group by w.workspace_id, ${sql.raw(key)} having (${list((sum) => `sum(${sum})`)}) <> (${list(() => "0")})
    order by ${sql.raw(key)}
    on conflict (workspace_id, span_hours, starts_at, project, git_branch, provider, model) do update set
      ${list((sum) => `${sum} = usage_branches.${sum} + excluded.${sum}`)}`.execute(trx);
}

/** Counts the seals of processes that do not know the sums by model. Null for a workspace without seals. */
async function countUnsummedSeals(
  trx: Transaction<CloudSchema>,
  workspaceId: string,
): Promise<string | null> {
  const { rows } = await sql<{ seals: string }>`
    select (seq - summed_seals)::text as seals from cost_seal_heads where workspace_id = ${workspaceId}::uuid`.execute(
    trx,
  );
  return rows[0]?.seals ?? null;
}

/**
 * Records that the sums are complete, unless a process that does not know them has appended a seal since `unsummedSeals` were counted. Returns
 * whether they are; without seals, there is nothing to record.
 */
async function markComplete(
  trx: Transaction<CloudSchema>,
  workspaceId: string,
  unsummedSeals: string | null,
): Promise<boolean> {
  await sql`update cost_seal_heads set summed_seq = seq
    where workspace_id = ${workspaceId}::uuid and seq - summed_seals = ${unsummedSeals}::bigint`.execute(trx);
  return (await hasModelSums(trx, workspaceId)) || (await countUnsummedSeals(trx, workspaceId)) === null;
}
