import type { Transaction } from "kysely";
import type { Millis } from "../../core/values/time.ts";
import type { SavedViewPage } from "../../core/wire/saved-views.ts";
import { updateOne } from "./affected-rows.ts";
import { addAuditEvent, type Change } from "./audit-events.ts";
import type { CloudDatabase } from "./open-database.ts";
import type { CloudSchema } from "./schema.ts";
import { inScope, lockWorkspace } from "./transaction.ts";

/** A saved view: the state of a page, under a name. */
export interface SavedView {
  readonly viewId: string;
  readonly userId: string;
  readonly name: string;
  readonly page: SavedViewPage;
  readonly query: string;
  readonly isShared: boolean;
  readonly createdAt: Millis;
}

/** A person who sees their own views and the shared ones. An administrator can change the shared ones. */
export interface ViewReader {
  readonly userId: string;
  readonly isAdmin: boolean;
}

/** Whether a person can change a view that they see. */
export const canChangeView = (
  { userId, isShared }: Pick<SavedView, "userId" | "isShared">,
  reader: ViewReader,
): boolean => userId === reader.userId || (isShared && reader.isAdmin);

/** Lists a person's views and the shared ones of a workspace, by name. */
export async function listSavedViews(
  db: CloudDatabase,
  workspaceId: string,
  userId: string,
): Promise<readonly SavedView[]> {
  const rows = await inScope(db, { workspaceId }, (trx) =>
    trx
      .selectFrom("saved_views")
      .select(["view_id", "user_id", "name", "page", "query", "is_shared", "created_at"])
      .where("workspace_id", "=", workspaceId)
      .where(({ or, eb }) => or([eb("user_id", "=", userId), eb("is_shared", "=", true)]))
      .orderBy("name")
      .orderBy("view_id")
      .execute(),
  );
  return rows.map((row) => ({
    viewId: row.view_id,
    userId: row.user_id,
    name: row.name,
    page: row.page,
    query: row.query,
    isShared: row.is_shared,
    createdAt: row.created_at,
  }));
}

/** Saves a view. Concurrent calls wait for each other at the workspace's row, so the number of a person's views is exact. */
export async function saveView(
  db: CloudDatabase,
  workspaceId: string,
  fresh: Omit<SavedView, "createdAt">,
  max: number,
  now: Millis,
): Promise<"saved" | "view_exists" | "too_many_views"> {
  return await inScope(db, { workspaceId, readsThenWrites: true }, async (trx) => {
    await lockWorkspace(trx, workspaceId);
    const own = await trx
      .selectFrom("saved_views")
      .select("name")
      .where("workspace_id", "=", workspaceId)
      .where("user_id", "=", fresh.userId)
      .execute();
    if (own.some(({ name }) => name === fresh.name)) return "view_exists";
    if (own.length >= max) return "too_many_views";
    await trx
      .insertInto("saved_views")
      .values({
        workspace_id: workspaceId,
        view_id: fresh.viewId,
        user_id: fresh.userId,
        name: fresh.name,
        page: fresh.page,
        query: fresh.query,
        is_shared: fresh.isShared,
        created_at: now,
      })
      .execute();
    if (fresh.isShared)
      await addAuditEvent(trx, workspaceId, "view_shared", { userId: fresh.userId, now }, detailsOf(fresh));
    return "saved";
  });
}

const detailsOf = ({ viewId, name, page }: Pick<SavedView, "viewId" | "name" | "page">) => ({
  view_id: viewId,
  name,
  page,
});

/** The result of a change. `not_found` is also for the private views of others. */
export type ViewChange = "changed" | "not_found" | "forbidden" | "view_exists";

/** Renames a view, shares it, or stops sharing it. */
export async function changeSavedView(
  db: CloudDatabase,
  workspaceId: string,
  viewId: string,
  { name, isShared }: { readonly name: string | undefined; readonly isShared: boolean | undefined },
  reader: ViewReader,
  change: Change,
): Promise<ViewChange> {
  return await onView(db, workspaceId, viewId, reader, async (trx, view) => {
    const next = { ...view, name: name ?? view.name, isShared: isShared ?? view.isShared };
    const sameName = await trx
      .selectFrom("saved_views")
      .select("view_id")
      .where("workspace_id", "=", workspaceId)
      .where("user_id", "=", view.userId)
      .where("name", "=", next.name)
      .where("view_id", "<>", viewId)
      .execute();
    if (sameName.length > 0) return "view_exists";
    await updateOne(
      trx
        .updateTable("saved_views")
        .set({ name: next.name, is_shared: next.isShared })
        .where("workspace_id", "=", workspaceId)
        .where("view_id", "=", viewId),
    );
    if (view.isShared || next.isShared) {
      const kind =
        view.isShared === next.isShared ? "view_renamed" : next.isShared ? "view_shared" : "view_unshared";
      await addAuditEvent(trx, workspaceId, kind, change, detailsOf(next));
    }
    return "changed";
  });
}

/** Deletes a view. */
export async function deleteSavedView(
  db: CloudDatabase,
  workspaceId: string,
  viewId: string,
  reader: ViewReader,
  change: Change,
): Promise<ViewChange> {
  return await onView(db, workspaceId, viewId, reader, async (trx, view) => {
    await trx
      .deleteFrom("saved_views")
      .where("workspace_id", "=", workspaceId)
      .where("view_id", "=", viewId)
      .execute();
    if (view.isShared) await addAuditEvent(trx, workspaceId, "view_deleted", change, detailsOf(view));
    return "changed";
  });
}

/** Runs the work on a view that the reader sees and can change. */
async function onView(
  db: CloudDatabase,
  workspaceId: string,
  viewId: string,
  reader: ViewReader,
  work: (trx: Transaction<CloudSchema>, view: Omit<SavedView, "query" | "createdAt">) => Promise<ViewChange>,
): Promise<ViewChange> {
  return await inScope(db, { workspaceId, readsThenWrites: true }, async (trx) => {
    await lockWorkspace(trx, workspaceId);
    const row = await trx
      .selectFrom("saved_views")
      .select(["user_id", "name", "page", "is_shared"])
      .where("workspace_id", "=", workspaceId)
      .where("view_id", "=", viewId)
      .executeTakeFirst();
    if (row === undefined || (row.user_id !== reader.userId && !row.is_shared)) return "not_found";
    const view = { viewId, userId: row.user_id, name: row.name, page: row.page, isShared: row.is_shared };
    return canChangeView(view, reader) ? await work(trx, view) : "forbidden";
  });
}
