import { isUuid } from "../../../core/values/uuid.ts";
import { formatInstant, formatInstantOrNull } from "../../../core/wire/instant.ts";
import type { Actor } from "../../access/actor.ts";
import { mintToken } from "../../access/token.ts";
import { problem } from "../../http/problem.ts";
import { newId } from "../../new-id.ts";
import { addAdminKey, listKeys, revokeKey } from "../../store/key-administration.ts";
import type { WorkspaceAccess } from "../../store/workspaces.ts";
import type { ApiHandlers } from "../api-call.ts";

/** The routes of a workspace's keys. */
export const keyHandlers = {
  "GET /v1/workspaces/:ws/keys": async ({ parts, actor, workspace, answer }) => {
    const keys = await listKeys(parts.db, workspace.workspaceId, keyOwnerFilter(actor, workspace));
    const items = keys.map((key) => ({
      id: key.keyId,
      prefix: key.prefix,
      scope: key.scope,
      user_id: key.userId,
      machine_id: key.machineId,
      created_at: formatInstant(key.createdAt),
      last_used_at: formatInstantOrNull(key.lastUsedAt),
    }));
    return answer(200, { items });
  },

  "POST /v1/workspaces/:ws/keys": async ({ parts, actor, workspace: { workspaceId }, answer }) => {
    const now = parts.clock.now();
    const keyId = newId(parts);
    const { token, prefix, hash } = mintToken("admin", workspaceId, parts.randomBytes, parts.sha256);
    const key = { keyId, tokenHash: hash, prefix };
    await addAdminKey(parts.db, workspaceId, key, { userId: actor.userId, now });
    return answer(201, { id: keyId, prefix, token, created_at: formatInstant(now) });
  },

  "DELETE /v1/workspaces/:ws/keys/:id": async ({ parts, actor, workspace, params: { id }, answer }) => {
    const change = { userId: actor.userId, now: parts.clock.now() };
    const ofUser = keyOwnerFilter(actor, workspace);
    const found = isUuid(id) && (await revokeKey(parts.db, workspace.workspaceId, id, ofUser, change));
    return found ? answer(204) : problem("not_found");
  },
} satisfies Partial<ApiHandlers>;

/** Returns whose keys the caller can manage: null (everyone's) for an admin, their own for a member. */
function keyOwnerFilter(actor: Actor, workspace: WorkspaceAccess): string | null {
  return workspace.role === "admin" ? null : actor.userId;
}
