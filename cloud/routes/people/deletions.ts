import { purgeDueAt } from "../../../core/privacy/deletion/soft-deletion.ts";
import type { Millis } from "../../../core/values/time.ts";
import { formatInstant } from "../../../core/wire/instant.ts";
import type { DeletionResponse } from "../../../core/wire/settings.ts";
import { problem } from "../../http/problem.ts";
import { deleteWorkspace, leaveAllOrganisations } from "../../store/deletions.ts";
import type { ApiHandlers } from "../api-call.ts";

/** The routes that delete workspaces and accounts. What they delete stops serving at once; the purge erases it later. */
export const deletionHandlers = {
  "DELETE /v1/workspaces/:ws": async ({ parts, actor, workspace, answer }) => {
    const change = { userId: actor.userId, now: parts.clock.now() };
    const deletedAt = await deleteWorkspace(parts.db, workspace.workspaceId, change);
    return deletedAt === null ? problem("not_found") : answer(200, toWire(deletedAt));
  },

  /** Removes the person's memberships, then the account, so that the call can be repeated after a failure. */
  "DELETE /v1/account": async ({ parts, actor: { userId }, answer }) => {
    const now = parts.clock.now();
    const left = await leaveAllOrganisations(parts.db, userId, now);
    if (!left.ok) return problem("sole_owner");
    await parts.accounts.deleteUser(userId);
    return answer(200, toWire(now));
  },
} satisfies Partial<ApiHandlers>;

function toWire(deletedAt: Millis): DeletionResponse {
  return {
    deleted_at: formatInstant(deletedAt),
    purge_due_at: formatInstant(purgeDueAt({ deletedAt }) ?? deletedAt),
  };
}
