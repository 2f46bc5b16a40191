import { isUuid } from "../../core/values/uuid.ts";
import type { CloudDatabase } from "../store/open-database.ts";
import { findWorkspaceAccess, listWorkspaces, type WorkspaceAccess } from "../store/workspaces.ts";
import type { Actor } from "./actor.ts";

/**
 * Finds a workspace that the caller can access, with their role in it. Null if it is unknown, deleted, malformed, not
 * accessible, or not the workspace of the caller's key.
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

/** Lists the workspaces that the caller can access, by name; for a key, only its own. */
export async function listReachableWorkspaces(
  db: CloudDatabase,
  { userId, keyWorkspaceId }: Actor,
): Promise<readonly WorkspaceAccess[]> {
  if (keyWorkspaceId === null) return await listWorkspaces(db, userId);
  const only = await findWorkspaceAccess(db, userId, keyWorkspaceId);
  return only === null ? [] : [only];
}
