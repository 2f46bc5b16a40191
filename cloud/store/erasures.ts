import { type RawBuilder, sql, type Transaction } from "kysely";
import type { BodyKeyStore } from "../../core/ports/body-key-store.ts";
import type { Millis } from "../../core/values/time.ts";
import { addAuditEvent, type Change } from "./audit-events.ts";
import type { BodyOwner } from "./body-keys.ts";
import type { CloudDatabase } from "./open-database.ts";
import { blankEvents, blankRequests, blankViews, deleteBatch } from "./purge.ts";
import type { CloudSchema } from "./schema.ts";
import { inScope } from "./transaction.ts";

/** Whose prompts are erased. Null stands for everybody or every project; at least one is given. */
export interface ErasureScope {
  readonly workspaceId: string;
  readonly userId: string | null;
  readonly project: string | null;
}

/** An erasure that began. */
export interface Erasure extends ErasureScope {
  readonly erasureId: string;
  /** Prompts of requests that were sent or had arrived before this instant are erased. */
  readonly before: Millis;
}

/** What an erasure removed so far. */
export interface ErasedCounts {
  readonly bodies: number;
  readonly replacedVersions: number;
  readonly requests: number;
  readonly views: number;
  readonly events: number;
}

const asPurge = <T>(
  db: CloudDatabase,
  workspaceId: string,
  work: (trx: Transaction<CloudSchema>) => Promise<T>,
): Promise<T> => inScope(db, { workspaceId }, work, "meter_purge");

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
 * Begins an erasure: from its commit on, the keys of its scope are not used, and no body that it covers is stored. Locks the
 * workspace's row, so that bodies that are being stored are committed before, and are covered.
 */
export async function beginErasure(
  db: CloudDatabase,
  scope: ErasureScope,
  erasureId: string,
  now: () => Millis,
): Promise<Erasure> {
  const { workspaceId, userId, project } = scope;
  return await asPurge(db, workspaceId, async (trx) => {
    await trx
      .selectFrom("workspaces")
      .select("workspace_id")
      .where("workspace_id", "=", workspaceId)
      .forUpdate()
      .execute();
    const before = now();
    // Read again by the bodies that wait for this lock.
    await trx
      .updateTable("workspaces")
      .set({ prompts_erased_at: before })
      .where("workspace_id", "=", workspaceId)
      .execute();
    await trx
      .insertInto("erasures")
      .values({ workspace_id: workspaceId, erasure_id: erasureId, user_id: userId, project, before })
      .execute();
    await endKeys(trx, scope, before);
    return { ...scope, erasureId, before };
  });
}

async function endKeys(trx: Transaction<CloudSchema>, scope: ErasureScope, now: Millis): Promise<void> {
  await sql`update body_keys set destroyed_at = ${now}::timestamptz
    where ${ownedBy(scope)} and destroyed_at is null`.execute(trx);
}

/** Lists the erasures of all workspaces that were interrupted, oldest first. */
export async function listUnfinishedErasures(db: CloudDatabase): Promise<readonly Erasure[]> {
  const rows = await inScope(
    db,
    {},
    (trx) =>
      trx
        .selectFrom("erasures")
        .select(["workspace_id", "erasure_id", "user_id", "project", "before"])
        .where("finished_at", "is", null)
        .orderBy("before")
        .execute(),
    "meter_purge",
  );
  return rows.map((row) => ({
    workspaceId: row.workspace_id,
    erasureId: row.erasure_id,
    userId: row.user_id,
    project: row.project,
    before: row.before,
  }));
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
    await asPurge(db, workspaceId, (trx) =>
      trx
        .updateTable("body_keys")
        .set({ shredded_at: now })
        .where("workspace_id", "=", workspaceId)
        .where("key_id", "in", pending)
        .execute(),
    );
  }
  return rows.map(({ key_id }) => key_id);
}

/** Ends the use of a scope's keys and destroys them, for a workspace or an account that is purged. */
export async function destroyKeys(
  db: CloudDatabase,
  keys: BodyKeyStore | null,
  scope: ErasureScope,
  now: Millis,
): Promise<void> {
  await asPurge(db, scope.workspaceId, (trx) => endKeys(trx, scope, now));
  await destroyEndedKeys(db, keys, scope, now);
}

/** Erases one batch of rows, in one transaction. Returns what it erased; nothing is left once every count is 0. */
export async function eraseBatch(db: CloudDatabase, erasure: Erasure, now: Millis): Promise<ErasedCounts> {
  const { workspaceId } = erasure;
  const requests = sql`select request_id from requests
    where ${ownedBy(erasure)} and least(requested_at, received_at) < ${erasure.before}::timestamptz`;
  const inRequests = sql`workspace_id = ${workspaceId}::uuid and request_id in (${requests})`;
  return await asPurge(db, workspaceId, async (trx): Promise<ErasedCounts> => {
    const none = { bodies: 0, replacedVersions: 0, requests: 0, views: 0, events: 0 };
    const replacedVersions = await deleteBatch(trx, "request_body_versions", inRequests);
    if (replacedVersions > 0) return { ...none, replacedVersions };
    const bodies = await deleteBatch(trx, "request_bodies", inRequests);
    if (bodies > 0) return { ...none, bodies };
    const blanked = await blankRequests(trx, inRequests);
    if (blanked > 0) return { ...none, requests: blanked };
    const views = await blankViews(trx, workspaceId, sql`request_id in (${requests})`, now);
    const replaced = sql`kind = 'body_replaced' and details ->> 'request_id' in
      (select r.request_id::text from (${requests}) r)`;
    return { ...none, views, events: await blankEvents(trx, workspaceId, replaced, now) };
  });
}

/** SQL for whose rows a scope covers, for tables with the columns `user_id` and `project`. */
function ownedBy({ workspaceId, userId, project }: ErasureScope): RawBuilder<unknown> {
  const person = userId === null ? sql`true` : sql`user_id = ${userId}`;
  const inProject = project === null ? sql`true` : sql`coalesce(project, '') = ${project}`;
  return sql`workspace_id = ${workspaceId}::uuid and ${person} and ${inProject}`;
}

/** Records that an erasure finished: its certificate and one audit event. Returns false if another process recorded it first. */
export async function finishErasure(
  db: CloudDatabase,
  { workspaceId, erasureId, userId, project }: Erasure,
  certificate: { readonly text: string; readonly sha256: string },
  change: Change,
): Promise<boolean> {
  const recorded = await asPurge(db, workspaceId, (trx) =>
    trx
      .updateTable("erasures")
      .set({ finished_at: change.now, certificate: certificate.text })
      .where("workspace_id", "=", workspaceId)
      .where("erasure_id", "=", erasureId)
      .where("finished_at", "is", null)
      .returning("erasure_id")
      .executeTakeFirst(),
  );
  if (recorded === undefined) return false;
  await inScope(db, { workspaceId }, (trx) =>
    addAuditEvent(trx, workspaceId, "prompts_erased", change, {
      erasure_id: erasureId,
      user_id: userId,
      project,
      certificate_sha256: certificate.sha256,
    }),
  );
  return true;
}

/** Returns the certificates of a workspace's erasures, the newest first. An unfinished one has none yet. */
export async function listErasures(
  db: CloudDatabase,
  workspaceId: string,
): Promise<
  readonly (Erasure & { readonly finishedAt: Millis | null; readonly certificate: string | null })[]
> {
  const rows = await inScope(db, { workspaceId }, (trx) =>
    trx
      .selectFrom("erasures")
      .selectAll()
      .where("workspace_id", "=", workspaceId)
      .orderBy("before", "desc")
      .orderBy("erasure_id", "desc")
      .limit(MAX_LISTED)
      .execute(),
  );
  return rows.map((row) => ({
    workspaceId,
    erasureId: row.erasure_id,
    userId: row.user_id,
    project: row.project,
    before: row.before,
    finishedAt: row.finished_at,
    certificate: row.certificate,
  }));
}

/** Most erasures that a list contains. */
const MAX_LISTED = 200;
