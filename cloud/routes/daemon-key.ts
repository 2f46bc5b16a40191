import type { Context } from "hono";
import { formatInstant, type Whoami } from "../../core/wire/mod.ts";
import type { CloudEnv, CloudParts } from "../ports.ts";
import { revokeKey } from "../store/key-administration.ts";

/** `GET /v1/daemon/whoami`: whom the key stands for. */
export function getWhoami(parts: CloudParts, context: Context<CloudEnv>): Response {
  const key = context.get("key");
  const answer: Whoami = {
    workspace: {
      id: key.workspaceId,
      name: key.workspace.name,
      plan: key.workspace.plan,
      store_prompt_content: key.workspace.storePromptContent,
    },
    machine: key.machine === null ? null : { id: key.machine.id, hostname: key.machine.hostname },
    key: { prefix: key.prefix, scope: key.scope, created_at: formatInstant(key.createdAt) },
    server_time: formatInstant(parts.clock.now()),
  };
  return context.json(answer);
}

/** `DELETE /v1/daemon/key`: the key revokes itself. */
export async function deleteKey(parts: CloudParts, context: Context<CloudEnv>): Promise<Response> {
  const { workspaceId, keyId, userId } = context.get("key");
  await revokeKey(parts.db, workspaceId, keyId, null, { userId, now: parts.clock.now() });
  return context.body(null, 204);
}
