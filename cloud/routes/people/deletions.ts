import type { Context } from "hono";
import { purgeDueAt } from "../../../core/deletion/mod.ts";
import type { Millis } from "../../../core/time.ts";
import { type DeletionAnswer, formatInstant } from "../../../core/wire/mod.ts";
import { problem } from "../../errors.ts";
import type { CloudEnv, CloudParts } from "../../ports.ts";
import { deleteWorkspace, leaveEverything } from "../../store/deletions.ts";

/** `DELETE /v1/workspaces/{ws}`, by an owner of the organisation: out of service at once, nothing removed. */
export async function deleteWorkspaceByOwner(
  parts: CloudParts,
  context: Context<CloudEnv>,
): Promise<Response> {
  const { workspaceId, isOrganisationOwner } = context.get("workspace");
  if (!isOrganisationOwner) return problem("forbidden");
  const change = { userId: context.get("actor").userId, now: parts.clock.now() };
  const deletedAt = await deleteWorkspace(parts.db, workspaceId, change);
  return deletedAt === null ? problem("not_found") : context.json(toAnswer(deletedAt));
}

/** `DELETE /v1/account`, by the person: first their places, then the account, so that a failure in between can be repeated. */
export async function deleteAccount(parts: CloudParts, context: Context<CloudEnv>): Promise<Response> {
  const { userId } = context.get("actor");
  const now = parts.clock.now();
  const left = await leaveEverything(parts.db, userId, now);
  if (!left.ok) return problem("sole_owner");
  await parts.accounts.deleteUser(userId);
  return context.json(toAnswer(now));
}

function toAnswer(deletedAt: Millis): DeletionAnswer {
  return {
    deleted_at: formatInstant(deletedAt),
    purge_due_at: formatInstant(purgeDueAt({ deletedAt }) ?? deletedAt),
  };
}
