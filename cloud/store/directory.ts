import type { Transaction } from "kysely";
import type { Millis } from "../../core/values/time.ts";
import type { CloudSchema } from "./schema.ts";

/**
 * The directory: small tables on the coordinator that say which workspaces to look at. An entry is stored before what it leads to and
 * removed after it, so a workspace that exists is always found; what a person can access there is read in the workspace.
 */

/** Adds a workspace that is about to be created. The transaction's scope must be its organisation. */
export async function addToDirectory(
  trx: Transaction<CloudSchema>,
  { workspaceId, organisationId }: { readonly workspaceId: string; readonly organisationId: string },
): Promise<void> {
  await trx
    .insertInto("workspace_directory")
    .values({ workspace_id: workspaceId, organisation_id: organisationId })
    .execute();
}

/** Adds a workspace that a person is about to join. The transaction's scope must be the person. */
export async function addPersonToDirectory(
  trx: Transaction<CloudSchema>,
  userId: string,
  workspaceId: string,
): Promise<void> {
  await trx
    .insertInto("person_workspaces")
    .values({ user_id: userId, workspace_id: workspaceId })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
}

/** Lists the workspaces that a person joined, or may have joined, in a fixed order. Includes those that they left. */
export async function workspacesOfMember(
  trx: Transaction<CloudSchema>,
  userId: string,
): Promise<readonly string[]> {
  const rows = await trx
    .selectFrom("person_workspaces")
    .select("workspace_id")
    .where("user_id", "=", userId)
    .orderBy("workspace_id")
    .execute();
  return rows.map(({ workspace_id }) => workspace_id);
}

/** Lists the workspaces of the organisation that were not deleted. The transaction's scope must be the organisation. */
export async function workspacesOf(
  trx: Transaction<CloudSchema>,
  organisationId: string,
): Promise<readonly string[]> {
  const rows = await trx
    .selectFrom("workspace_directory")
    .select("workspace_id")
    .where("organisation_id", "=", organisationId)
    .where("deleted_at", "is", null)
    .orderBy("workspace_id")
    .execute();
  return rows.map(({ workspace_id }) => workspace_id);
}

/** Marks a workspace as deleted. False if it is not in service. The transaction's scope must be the workspace or its organisation. */
export async function markDeleted(
  trx: Transaction<CloudSchema>,
  workspaceId: string,
  now: Millis,
): Promise<boolean> {
  const { numUpdatedRows } = await trx
    .updateTable("workspace_directory")
    .set({ deleted_at: now })
    .where("workspace_id", "=", workspaceId)
    .where("deleted_at", "is", null)
    .executeTakeFirstOrThrow();
  return numUpdatedRows > 0n;
}

/** Returns when a workspace was deleted; null if it is in service. The transaction's scope must be the workspace. */
export async function readDeletedAt(
  trx: Transaction<CloudSchema>,
  workspaceId: string,
): Promise<Millis | null> {
  const row = await trx
    .selectFrom("workspace_directory")
    .select("deleted_at")
    .where("workspace_id", "=", workspaceId)
    .executeTakeFirst();
  return row?.deleted_at ?? null;
}
