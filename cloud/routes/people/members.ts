import type { Context } from "hono";
import { formatInstant, isStorableText, type Members, memberPatchSchema } from "../../../core/wire/mod.ts";
import { problem } from "../../errors.ts";
import type { CloudEnv, CloudParts } from "../../ports.ts";
import { readSmallPayload } from "../../read-payload.ts";
import { changeMemberRole, listMembers, removeMember } from "../../store/members.ts";

/** `GET /v1/workspaces/{ws}/members`. */
export async function getMembers(parts: CloudParts, context: Context<CloudEnv>): Promise<Response> {
  const members = await listMembers(parts.db, context.get("workspace").workspaceId);
  const people = await parts.accounts.people(members.map(({ userId }) => userId));
  const answer: Members = {
    items: members.map(({ userId, role, via, joinedAt }) => ({
      user_id: userId,
      name: people.get(userId)?.name ?? "",
      email: people.get(userId)?.email ?? null,
      role,
      via,
      joined_at: formatInstant(joinedAt),
    })),
  };
  return context.json(answer);
}

/** The person in the path. What the database can't hold is nobody's id, and so is the empty text. */
function userIdOf(context: Context<CloudEnv>): string {
  const userId = context.req.param("user") ?? "";
  return isStorableText(userId) ? userId : "";
}

/** `PATCH /v1/workspaces/{ws}/members/{user}`, by an admin. */
export async function patchMember(parts: CloudParts, context: Context<CloudEnv>): Promise<Response> {
  const read = await readSmallPayload(context.req.raw, memberPatchSchema);
  if (!read.ok) return read.refusal;
  const { workspaceId } = context.get("workspace");
  const change = { userId: context.get("actor").userId, now: parts.clock.now() };
  const userId = userIdOf(context);
  const found = await changeMemberRole(parts.db, workspaceId, userId, read.value.role, change);
  return found ? context.body(null, 204) : problem("not_found");
}

/** `DELETE /v1/workspaces/{ws}/members/{user}`, by an admin, or by the member, who leaves. */
export async function deleteMember(parts: CloudParts, context: Context<CloudEnv>): Promise<Response> {
  const { workspaceId, role } = context.get("workspace");
  const actor = context.get("actor");
  const userId = userIdOf(context);
  if (role !== "admin" && userId !== actor.userId) return problem("forbidden");
  const change = { userId: actor.userId, now: parts.clock.now() };
  return (await removeMember(parts.db, workspaceId, userId, change))
    ? context.body(null, 204)
    : problem("not_found");
}
