import { isStorableText } from "../../../core/wire/characters.ts";
import { formatInstant } from "../../../core/wire/instant.ts";
import { problem } from "../../http/problem.ts";
import { changeMemberRole, listMembers, removeMember } from "../../store/members.ts";
import type { ApiHandlers } from "../api-call.ts";

/** The routes of a workspace's members. */
export const memberHandlers = {
  "GET /v1/workspaces/:ws/members": async ({ parts, workspace, answer }) => {
    const members = await listMembers(parts.db, workspace.workspaceId);
    const people = await parts.accounts.getPeople(members.map(({ userId }) => userId));
    const items = members.map(({ userId, role, via, joinedAt }) => ({
      user_id: userId,
      name: people.get(userId)?.name ?? "",
      email: people.get(userId)?.email ?? null,
      role,
      via,
      joined_at: formatInstant(joinedAt),
    }));
    return answer(200, { items });
  },

  "PATCH /v1/workspaces/:ws/members/:user": async ({ parts, actor, workspace, params, body, answer }) => {
    const change = { userId: actor.userId, now: parts.clock.now() };
    const userId = toUserId(params.user);
    const found = await changeMemberRole(parts.db, workspace.workspaceId, userId, body.role, change);
    return found ? answer(204) : problem("not_found");
  },

  /** Lets an admin remove a member, or a member leave. */
  "DELETE /v1/workspaces/:ws/members/:user": async ({ parts, actor, workspace, params, answer }) => {
    const userId = toUserId(params.user);
    if (workspace.role !== "admin" && userId !== actor.userId) return problem("forbidden");
    const change = { userId: actor.userId, now: parts.clock.now() };
    const found = await removeMember(parts.db, workspace.workspaceId, userId, change);
    return found ? answer(204) : problem("not_found");
  },
} satisfies Partial<ApiHandlers>;

/** Returns the user id in the path, or an empty text, which is no user's id, if the database cannot store it. */
function toUserId(text: string): string {
  return isStorableText(text) ? text : "";
}
