import { formatInstant } from "../../../core/wire/instant.ts";
import { readStatedHeads } from "../../store/chain-heads.ts";
import { revokeKey } from "../../store/key-administration.ts";
import { readRestoresSince } from "../../store/restores.ts";
import type { ApiHandlers } from "../api-call.ts";
import { readNames } from "../reads/read-names.ts";

/** The routes about the calling key. */
export const daemonKeyHandlers = {
  "GET /v1/daemon/whoami": async ({ parts, key, answer }) => {
    const names = await readNames(parts.accounts, [key.userId]);
    return answer(200, {
      workspace: {
        id: key.workspaceId,
        name: key.workspace.name,
        plan: key.workspace.plan,
        store_prompt_content: key.workspace.storePromptContent,
      },
      machine: key.machine === null ? null : { id: key.machine.id, hostname: key.machine.hostname },
      user: { id: key.userId, name: names.get(key.userId) ?? "" },
      key: { prefix: key.prefix, scope: key.scope, created_at: formatInstant(key.createdAt) },
      server_time: formatInstant(parts.clock.now()),
    });
  },

  "GET /v1/daemon/ledger-heads": async ({ parts, key: { workspaceId }, query, answer }) => {
    const heads = await readStatedHeads(parts.db, workspaceId, query);
    const restore = await readRestoresSince(parts.db, query.generation ?? null);
    const restored =
      restore === null
        ? null
        : {
            generation: restore.generation,
            backup_at: formatInstant(restore.backupAt),
            restored_at: formatInstant(restore.restoredAt),
            server_time: formatInstant(parts.clock.now()),
          };
    return answer(200, { workspace_id: workspaceId, ...heads, restored });
  },

  "DELETE /v1/daemon/key": async ({ parts, key: { workspaceId, keyId, userId }, answer }) => {
    await revokeKey(parts.db, workspaceId, keyId, null, { userId, now: parts.clock.now() });
    return answer(204);
  },
} satisfies Partial<ApiHandlers>;
