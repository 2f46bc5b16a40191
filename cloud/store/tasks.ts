import { sql, type Transaction } from "kysely";
import type { Millis } from "../../core/values/time.ts";
import type { Change } from "./audit-events.ts";
import { toJson } from "./json-value.ts";
import type { CloudDatabase } from "./open-database.ts";
import type { CloudSchema, OrganisationRole } from "./schema.ts";
import { inScope } from "./transaction.ts";

/** What the remaining steps of each kind of task need. */
export interface TaskDetails {
  /** The id is the workspace's. */
  create_workspace: { readonly organisationId: string; readonly name: string; readonly change: Change };
  /** The id is the workspace's. */
  delete_workspace: { readonly change: Change };
  /** The id is the invitation's. */
  accept_invitation: { readonly workspaceId: string; readonly userId: string; readonly now: Millis };
  /** The id is the invitation's, or the workspace's for addresses that remained of earlier ones. Due long after the invitation has ended. */
  forget_invitation: { readonly workspaceId: string };
  /** The id is the erasure's. Due until the purge job has called `purged` after it. */
  erase_prompts: { readonly workspaceId: string };
  /** The id is the workspace's. Due until all its requests are summed by branch. */
  sum_branches: Readonly<Record<string, never>>;
  /** The id is the workspace's. Due until all its requests are summed by model. */
  sum_models: Readonly<Record<string, never>>;
  /** The id is the workspace's. Due a day after the sums of coverage by day were added. */
  sum_coverage: Readonly<Record<string, never>>;
  /** The id is random. */
  change_organisation_role: {
    readonly organisationId: string;
    readonly userId: string;
    /** Null: removed. */
    readonly role: OrganisationRole | null;
    readonly roleBefore: OrganisationRole;
    readonly workspaceIds: readonly string[];
    readonly change: Change;
  };
  /** The id is random. */
  leave_organisations: {
    readonly userId: string;
    readonly organisations: readonly {
      readonly isDeleted: boolean;
      readonly workspaceIds: readonly string[];
    }[];
    /** Workspaces that the person may be a member of. */
    readonly workspaceIds: readonly string[];
    readonly now: Millis;
  };
}

/** The kind of a task. */
export type TaskKind = keyof TaskDetails;

/**
 * Work that spans the directory and workspaces, which a cluster cannot commit atomically. It is a list of steps, each a transaction of its
 * own that can be repeated. The first one stores the task together with what it decides; after the last one the task is removed. If the
 * process ends in between, `resumeTasks()` runs all steps again.
 */
export interface Task<K extends TaskKind = TaskKind> {
  readonly kind: K;
  readonly taskId: string;
  readonly details: TaskDetails[K];
}

/** How long after its start an unfinished task is resumed, milliseconds. Decision: longer than any request runs, its upload of up to 120 s included. */
export const RESUME_AFTER_MS = 180_000;

/** The maximum number of tasks that one run resumes. */
export const MAX_RESUMED = 1_000;

/** Stores a task, in the transaction that decides it. A task of the same kind and id is replaced. */
export async function addTask<K extends TaskKind>(
  trx: Transaction<CloudSchema>,
  kind: K,
  taskId: string,
  details: TaskDetails[K],
  dueAt: Millis,
): Promise<Task<K>> {
  const [text, due_at] = [toJson(details), sql`${dueAt}::timestamptz`];
  // Not `excluded`, which needs the right to read the details.
  await sql`insert into tasks (kind, task_id, details, due_at) values (${kind}, ${taskId}::uuid, ${text}, ${due_at})
    on conflict (kind, task_id) do update set details = ${text}, due_at = ${due_at}`.execute(trx);
  return { kind, taskId, details };
}

/** Stores a task with a random id. */
export async function addRandomTask<K extends TaskKind>(
  trx: Transaction<CloudSchema>,
  kind: K,
  details: TaskDetails[K],
  dueAt: Millis,
): Promise<Task<K>> {
  const { rows } = await sql<{ id: string }>`select gen_random_uuid()::text as id`.execute(trx);
  return await addTask(trx, kind, String(rows[0]?.id), details, dueAt);
}

/** Removes a task after its last step. */
export async function endTask(db: CloudDatabase, task: Pick<Task, "kind" | "taskId">): Promise<void> {
  await inScope(db, {}, (trx) => removeTask(trx, task));
}

/** Removes a task, in the transaction of its last step. */
export async function removeTask(
  trx: Transaction<CloudSchema>,
  { kind, taskId }: Pick<Task, "kind" | "taskId">,
): Promise<void> {
  await trx.deleteFrom("tasks").where("kind", "=", kind).where("task_id", "=", taskId).execute();
}

/** Makes a task due later. */
export async function postponeTask(
  db: CloudDatabase,
  { kind, taskId }: Pick<Task, "kind" | "taskId">,
  dueAt: Millis,
): Promise<void> {
  await inScope(db, {}, (trx) =>
    trx
      .updateTable("tasks")
      .set({ due_at: dueAt })
      .where("kind", "=", kind)
      .where("task_id", "=", taskId)
      .execute(),
  );
}

/** Lists the tasks that are due, oldest first. */
export async function listDueTasks(
  db: CloudDatabase,
  kinds: readonly TaskKind[],
  now: Millis,
): Promise<readonly Task[]> {
  const rows = await inScope(
    db,
    {},
    (trx) =>
      trx
        .selectFrom("tasks")
        .select(["kind", "task_id", "details"])
        .where("kind", "in", kinds)
        .where("due_at", "<=", now)
        .orderBy("due_at")
        .orderBy("task_id")
        .limit(MAX_RESUMED)
        .execute(),
    "meter_purge",
  );
  return rows.map(({ kind, task_id: taskId, details }) => ({ kind, taskId, details }) as Task);
}
