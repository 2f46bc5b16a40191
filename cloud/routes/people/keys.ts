import type { Context } from "hono";
import { formatInstant, type KeyCreated, type Keys } from "../../../core/wire/mod.ts";
import { problem } from "../../errors.ts";
import { newId } from "../../new-id.ts";
import type { CloudEnv, CloudParts } from "../../ports.ts";
import { addAdminKey, listKeys, revokeKey } from "../../store/key-administration.ts";
import { mintToken } from "../../sync-token.ts";
import { isUuid } from "../../uuid.ts";

/** Whose keys a caller deals with: an admin with everybody's, a member with their own. */
function ownerInReach(context: Context<CloudEnv>): string | null {
  return context.get("workspace").role === "admin" ? null : context.get("actor").userId;
}

/** `GET /v1/workspaces/{ws}/keys`: the active ones. */
export async function getKeys(parts: CloudParts, context: Context<CloudEnv>): Promise<Response> {
  const keys = await listKeys(parts.db, context.get("workspace").workspaceId, ownerInReach(context));
  const answer: Keys = {
    items: keys.map((key) => ({
      id: key.keyId,
      prefix: key.prefix,
      scope: key.scope,
      user_id: key.userId,
      machine_id: key.machineId,
      created_at: formatInstant(key.createdAt),
    })),
  };
  return context.json(answer);
}

/** `POST /v1/workspaces/{ws}/keys`, by an admin in person: an admin key. Its token is shown this once. */
export async function postAdminKey(parts: CloudParts, context: Context<CloudEnv>): Promise<Response> {
  const { workspaceId } = context.get("workspace");
  const now = parts.clock.now();
  const keyId = newId(parts);
  const { token, prefix, hash } = mintToken("admin", workspaceId, parts.randomBytes, parts.sha256);
  await addAdminKey(
    parts.db,
    workspaceId,
    { keyId, tokenHash: hash, prefix },
    { userId: context.get("actor").userId, now },
  );
  const answer: KeyCreated = { id: keyId, prefix, token, created_at: formatInstant(now) };
  return context.json(answer, 201);
}

/** `DELETE /v1/workspaces/{ws}/keys/{id}`. */
export async function deleteListedKey(parts: CloudParts, context: Context<CloudEnv>): Promise<Response> {
  const id = context.req.param("id") ?? "";
  const { workspaceId } = context.get("workspace");
  const change = { userId: context.get("actor").userId, now: parts.clock.now() };
  const found = isUuid(id) && (await revokeKey(parts.db, workspaceId, id, ownerInReach(context), change));
  return found ? context.body(null, 204) : problem("not_found");
}
