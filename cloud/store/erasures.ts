import { type RawBuilder, type Selectable, sql, type Transaction, type Updateable } from "kysely";
import type { BodyKeyStore } from "../../core/ports/body-key-store.ts";
import type { Millis } from "../../core/values/time.ts";
import { expectRows, updateOne } from "./affected-rows.ts";
import { addAuditEvent, hasAuditEvent } from "./audit-events.ts";
import type { BodyOwner } from "./body-keys.ts";
import { blankEvents, blankRequests, blankViews, deleteBatch } from "./delete-and-blank.ts";
import type { CloudDatabase } from "./open-database.ts";
import { PERSONAL_REQUEST_COLUMNS } from "./request-columns.ts";
import type { CloudSchema } from "./schema.ts";
import type { StoredRequest } from "./stored-request.ts";
import { addTask, listDueTasks, RESUME_AFTER_MS, type Task } from "./tasks.ts";
import { inScope, lockWorkspace } from "./transaction.ts";

/** Whose prompts are erased. A null person means everyone, a null project every project; at least one is not null. */
export interface ErasureScope {
  readonly workspaceId: string;
  readonly userId: string | null;
  readonly project: string | null;
}

/** An erasure that began. */
export interface Erasure extends ErasureScope {
  readonly erasureId: string;
  /** Who asked for it; null for the host's own administration. */
  readonly actorUserId: string | null;
  /** Prompts of requests that were sent or had arrived before this instant are erased. */
  readonly before: Millis;
}

/** How many rows an erasure removed or blanked so far, by their kind. */
export type ErasedCounts = Pick<
  Selectable<CloudSchema["erasures"]>,
  "bodies" | "replaced_versions" | "requests" | "views" | "events"
>;

const asPurge = <T>(
  db: CloudDatabase,
  workspaceId: string,
  work: (trx: Transaction<CloudSchema>) => Promise<T>,
): Promise<T> => inScope(db, { workspaceId, readsThenWrites: true }, work, "meter_purge");

/** Whether a workspace exists and was not deleted. */
export async function isInService(db: CloudDatabase, workspaceId: string): Promise<boolean> {
  const row = await inScope(db, { workspaceId }, (trx) =>
    trx
      .selectFrom("workspaces")
      .select("workspace_id")
      .where("workspace_id", "=", workspaceId)
      .where("deleted_at", "is", null)
      .executeTakeFirst(),
  );
  return row !== undefined;
}

/**
 * Whether the prompts of an owner's request were erased, so that a late body is not stored. `at` is when the request was sent or when
 * its metadata arrived, whichever is earlier.
 */
export async function isErased(
  trx: Transaction<CloudSchema>,
  { workspaceId, userId, project }: BodyOwner,
  at: Millis,
): Promise<boolean> {
  const row = await trx
    .selectFrom("erasures")
    .select("erasure_id")
    .where("workspace_id", "=", workspaceId)
    .where(({ or, eb }) => or([eb("user_id", "is", null), eb("user_id", "=", userId)]))
    .where(({ or, eb }) => or([eb("project", "is", null), eb("project", "=", project)]))
    .where("before", ">", at)
    .limit(1)
    .executeTakeFirst();
  return row !== undefined;
}

/**
 * Removes from records what describes prompts that were erased, as the erasure did. A record that arrives later, such as one that a
 * machine offers again after a restore, does not bring it back.
 */
export async function withoutErased(
  db: CloudDatabase,
  workspaceId: string,
  rows: readonly StoredRequest[],
): Promise<readonly StoredRequest[]> {
  const erasures = await inScope(db, { workspaceId }, (trx) =>
    trx
      .selectFrom("erasures")
      .select(["user_id", "project", "before"])
      .where("workspace_id", "=", workspaceId)
      .execute(),
  );
  const blank = Object.fromEntries(PERSONAL_REQUEST_COLUMNS.map((column) => [column, null]));
  return rows.map((row) => {
    const at = Math.min(Date.parse(row.requested_at), Date.parse(row.received_at));
    const isCovered = erasures.some(
      ({ user_id, project, before }) =>
        before > at &&
        (user_id ?? row.user_id) === row.user_id &&
        (project ?? row.project ?? "") === (row.project ?? ""),
    );
    return isCovered ? { ...row, ...blank } : row;
  });
}

/**
 * Begins an erasure, after its task was stored: from its commit on, the keys of its scope are not used, and no body that it covers is stored. Locks the
 * workspace's row, so that bodies that are being stored are committed before, and are covered.
 */
export async function beginErasure(
  db: CloudDatabase,
  erasure: Omit<Erasure, "before">,
  now: () => Millis,
): Promise<Erasure> {
  const { workspaceId, erasureId, userId, project, actorUserId } = erasure;
  await inScope(db, {}, (trx) =>
    addTask(trx, "erase_prompts", erasureId, { workspaceId }, now() + RESUME_AFTER_MS),
  );
  return await asPurge(db, workspaceId, async (trx) => {
    await lockWorkspace(trx, workspaceId);
    const before = now();
    // Bodies that wait for this lock read this time again.
    await updateOne(
      trx
        .updateTable("workspaces")
        .set({ prompts_erased_at: before })
        .where("workspace_id", "=", workspaceId),
    );
    await trx
      .insertInto("erasures")
      .values({
        workspace_id: workspaceId,
        erasure_id: erasureId,
        user_id: userId,
        project,
        before,
        actor_user_id: actorUserId,
      })
      .execute();
    await endKeys(trx, erasure, before);
    return { ...erasure, before };
  });
}

async function endKeys(trx: Transaction<CloudSchema>, scope: ErasureScope, now: Millis): Promise<void> {
  const inUse = sql`${ownedBy(scope)} and destroyed_at is null`;
  await sql`update body_keys set destroyed_at = ${now}::timestamptz where ${inUse}`.execute(trx);
  const { rows: left } = await sql`select 1 from body_keys where ${inUse} limit 1`.execute(trx);
  expectRows(left.length, 0);
}

/** Lists the tasks of erasures that are due, oldest first: the erasure was interrupted, or its rows may be left in the database's files. */
export async function listErasureTasks(
  db: CloudDatabase,
  now: Millis,
): Promise<readonly Task<"erase_prompts">[]> {
  return (await listDueTasks(db, ["erase_prompts"], now)) as readonly Task<"erase_prompts">[];
}

/** Returns the erasure of a task; null if it never began. */
export async function findErasure(
  db: CloudDatabase,
  { taskId, details: { workspaceId } }: Task<"erase_prompts">,
): Promise<(Erasure & { readonly isFinished: boolean }) | null> {
  const row = await asPurge(db, workspaceId, (trx) =>
    trx
      .selectFrom("erasures")
      .select(["workspace_id", "erasure_id", "user_id", "project", "before", "actor_user_id", "finished_at"])
      .where("workspace_id", "=", workspaceId)
      .where("erasure_id", "=", taskId)
      .executeTakeFirst(),
  );
  return row === undefined ? null : { ...toErasure(row), isFinished: row.finished_at !== null };
}

function toErasure(
  row: Pick<
    Selectable<CloudSchema["erasures"]>,
    "workspace_id" | "erasure_id" | "user_id" | "project" | "before" | "actor_user_id"
  >,
): Erasure {
  return {
    workspaceId: row.workspace_id,
    erasureId: row.erasure_id,
    userId: row.user_id,
    project: row.project,
    before: row.before,
    actorUserId: row.actor_user_id,
  };
}

/**
 * Destroys the keys of a scope whose use has ended, in the key store too. Returns the ids of all that are gone. Safe to repeat: a key
 * counts as gone once the key store has confirmed it.
 */
export async function destroyEndedKeys(
  db: CloudDatabase,
  keys: BodyKeyStore | null,
  scope: ErasureScope,
  now: Millis,
): Promise<readonly string[]> {
  const { workspaceId } = scope;
  const { rows } = await asPurge(db, workspaceId, (trx) =>
    sql<{ key_id: string; shredded_at: Millis | null }>`
      select key_id::text, shredded_at from body_keys
      where ${ownedBy(scope)} and destroyed_at is not null order by key_id`.execute(trx),
  );
  const pending = rows.filter(({ shredded_at }) => shredded_at === null).map(({ key_id }) => key_id);
  if (pending.length > 0) {
    if (keys === null) throw new Error("the body keys can't be destroyed: no key store is configured");
    await keys.destroy(pending);
    await asPurge(db, workspaceId, async (trx) => {
      const shredded = await trx
        .updateTable("body_keys")
        .set({ shredded_at: now })
        .where("workspace_id", "=", workspaceId)
        .where("key_id", "in", pending)
        .executeTakeFirst();
      expectRows(shredded.numUpdatedRows, pending.length);
    });
  }
  return rows.map(({ key_id }) => key_id);
}

/** Ends the use of a scope's keys and destroys them, for a workspace or an account that is purged. Returns the ids of all that are gone. */
export async function destroyKeys(
  db: CloudDatabase,
  keys: BodyKeyStore | null,
  scope: ErasureScope,
  now: Millis,
): Promise<readonly string[]> {
  await asPurge(db, scope.workspaceId, (trx) => endKeys(trx, scope, now));
  return await destroyEndedKeys(db, keys, scope, now);
}

/** Erases one batch of rows and adds it to the erasure's counts, in one transaction. Returns how many rows it erased. */
export async function eraseBatch(db: CloudDatabase, erasure: Erasure, now: Millis): Promise<number> {
  const { workspaceId } = erasure;
  const requests = sql`select request_id from requests
    where ${ownedBy(erasure)} and least(requested_at, received_at) < ${erasure.before}::timestamptz`;
  const inRequests = sql`request_id in (${requests})`;
  const replaced = sql`kind = 'body_replaced' and details ->> 'request_id' in
    (select r.request_id::text from (${requests}) r)`;
  const steps: readonly (readonly [
    keyof ErasedCounts,
    (trx: Transaction<CloudSchema>) => Promise<number>,
  ])[] = [
    ["replaced_versions", (trx) => deleteBatch(trx, workspaceId, "request_body_versions", inRequests)],
    ["bodies", (trx) => deleteBatch(trx, workspaceId, "request_bodies", inRequests)],
    ["requests", (trx) => blankRequests(trx, workspaceId, inRequests)],
    ["views", (trx) => blankViews(trx, workspaceId, sql`request_id in (${requests})`, now)],
    ["events", (trx) => blankEvents(trx, workspaceId, replaced, now)],
  ];
  return await asPurge(db, workspaceId, async (trx) => {
    for (const [column, erase] of steps) {
      const erased = await erase(trx);
      if (erased === 0) continue;
      const { numAffectedRows } = await sql`
        update erasures set ${sql.ref(column)} = ${sql.ref(column)} + ${sql.lit(erased)}
        where workspace_id = ${workspaceId}::uuid and erasure_id = ${erasure.erasureId}::uuid`.execute(trx);
      expectRows(numAffectedRows, 1);
      return erased;
    }
    return 0;
  });
}

/** SQL for whose rows a scope covers, for tables with the columns `user_id` and `project`. */
function ownedBy({ workspaceId, userId, project }: ErasureScope): RawBuilder<unknown> {
  const person = userId === null ? sql`true` : sql`user_id = ${userId}`;
  const inProject = project === null ? sql`true` : sql`coalesce(project, '') = ${project}`;
  return sql`workspace_id = ${workspaceId}::uuid and ${person} and ${inProject}`;
}

/**
 * Records that an erasure finished: its certificate, and one audit event with the certificate's hash. Returns the certificate; if another
 * process finished the erasure first, that process's. Its steps can be repeated. They are transactions of their own, since a cluster
 * refuses one in which two roles write.
 */
export async function finishErasure(
  db: CloudDatabase,
  { workspaceId, erasureId, userId, project, actorUserId }: Erasure,
  certify: (counts: ErasedCounts) => string,
  hash: (certificate: string) => string,
  now: Millis,
): Promise<string> {
  const change = (trx: Transaction<CloudSchema>, values: Updateable<CloudSchema["erasures"]>) =>
    updateOne(
      trx
        .updateTable("erasures")
        .set(values)
        .where("workspace_id", "=", workspaceId)
        .where("erasure_id", "=", erasureId),
    );
  const { certificate, isFinished } = await asPurge(db, workspaceId, async (trx) => {
    const row = await trx
      .selectFrom("erasures")
      .selectAll()
      .where("workspace_id", "=", workspaceId)
      .where("erasure_id", "=", erasureId)
      .forUpdate()
      .executeTakeFirstOrThrow();
    const isFinished = row.finished_at !== null;
    if (row.certificate !== null) return { certificate: row.certificate, isFinished };
    const text = certify(row);
    await change(trx, { certificate: text });
    return { certificate: text, isFinished };
  });
  if (isFinished) return certificate;
  await inScope(db, { workspaceId, readsThenWrites: true }, async (trx) => {
    // One process at a time.
    await lockWorkspace(trx, workspaceId);
    if (await hasAuditEvent(trx, workspaceId, erasureId)) return;
    const details = {
      ...{ erasure_id: erasureId, user_id: userId, project },
      certificate_sha256: hash(certificate),
    };
    await addAuditEvent(trx, workspaceId, "prompts_erased", { userId: actorUserId, now }, details, erasureId);
  });
  await asPurge(db, workspaceId, (trx) => change(trx, { finished_at: now }));
  return certificate;
}

/**
 * Returns the certificates of a workspace's erasures, the newest first and at most `MAX_LISTED_ERASURES`: all, those of one person's
 * prompts, or one. An unfinished one has none yet.
 */
export async function listErasures(
  db: CloudDatabase,
  workspaceId: string,
  { userId = null, erasureId = null }: { userId?: string | null; erasureId?: string | null } = {},
): Promise<
  readonly (Erasure & { readonly finishedAt: Millis | null; readonly certificate: string | null })[]
> {
  const rows = await inScope(db, { workspaceId }, (trx) =>
    trx
      .selectFrom("erasures")
      .selectAll()
      .where("workspace_id", "=", workspaceId)
      .$if(userId !== null, (all) => all.where("user_id", "=", userId))
      .$if(erasureId !== null, (all) => all.where("erasure_id", "=", erasureId as string))
      .orderBy("before", "desc")
      .orderBy("erasure_id", "desc")
      .limit(MAX_LISTED_ERASURES)
      .execute(),
  );
  return rows.map((row) => ({
    ...toErasure(row),
    finishedAt: row.finished_at,
    certificate: row.certificate,
  }));
}

/** Most erasures that a list contains. */
export const MAX_LISTED_ERASURES = 200;
