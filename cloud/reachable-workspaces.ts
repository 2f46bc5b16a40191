import type { Actor } from "./actor.ts";
import type { CloudDatabase } from "./store/open-database.ts";
import { findWorkspaceAccess, listWorkspaces, type WorkspaceAccess } from "./store/workspaces.ts";
import { isUuid } from "./uuid.ts";

/**
 * A workspace as the caller stands in it. Null for one that is unknown, deleted, malformed, somebody else's, or another
 * than the one of the caller's key.
 */
export async function findReachableWorkspace(
  db: CloudDatabase,
  { userId, keyWorkspaceId }: Actor,
  workspaceId: string,
): Promise<WorkspaceAccess | null> {
  const id = workspaceId.toLowerCase();
  if (!isUuid(id) || (keyWorkspaceId !== null && keyWorkspaceId !== id)) return null;
  return await findWorkspaceAccess(db, userId, id);
}

/** All workspaces that the caller may enter, by name; with a key its own alone. */
export async function listReachableWorkspaces(
  db: CloudDatabase,
  { userId, keyWorkspaceId }: Actor,
): Promise<readonly WorkspaceAccess[]> {
  if (keyWorkspaceId === null) return await listWorkspaces(db, userId);
  const only = await findWorkspaceAccess(db, userId, keyWorkspaceId);
  return only === null ? [] : [only];
}
