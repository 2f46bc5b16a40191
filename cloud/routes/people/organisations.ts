import { formatInstant } from "../../../core/wire/instant.ts";
import { problem } from "../../http/problem.ts";
import { newId } from "../../new-id.ts";
import {
  changeOrganisationRole,
  createOrganisation,
  createWorkspace,
  findOrganisationAccess,
  listOrganisationMembers,
  listOrganisations,
} from "../../store/organisations.ts";
import type { OrganisationRole } from "../../store/schema.ts";
import { findWorkspaceAccess } from "../../store/workspaces.ts";
import type { ApiCall, ApiHandlers } from "../api-call.ts";
import { toOrganisationSummary, toWorkspaceSummary } from "./summaries.ts";

/** The routes of organisations, their workspaces and their members. */
export const organisationHandlers = {
  "GET /v1/organisations": async ({ parts, actor, answer }) => {
    const own = await listOrganisations(parts.db, actor.userId);
    return answer(200, { items: own.map(toOrganisationSummary) });
  },

  /** Creates an organisation, owned by the caller, and its first workspace. */
  "POST /v1/organisations": async ({ parts, actor: { userId }, body, answer }) => {
    const { name } = body;
    const fresh = {
      organisationId: newId(parts),
      name,
      workspaceId: newId(parts),
      workspaceName: body.workspace_name ?? name,
      ownerUserId: userId,
    };
    const created = await createOrganisation(parts.db, fresh, { userId, now: parts.clock.now() });
    if (created !== "made") return problem(created === "account_deleted" ? "unauthorised" : created);
    const workspace = await findWorkspaceAccess(parts.db, userId, fresh.workspaceId);
    if (workspace === null) return problem("not_found");
    return answer(201, {
      organisation: { id: fresh.organisationId, name, role: "owner" },
      workspace: toWorkspaceSummary(workspace),
    });
  },

  /** Lets an owner or admin of an organisation create a workspace in it. */
  "POST /v1/workspaces": async ({ parts, actor: { userId }, body, answer }) => {
    const organisationId = body.organisation_id.toLowerCase();
    const access = await findOrganisationAccess(parts.db, userId, organisationId);
    if (access === null) return problem("not_found");
    if (access.role === "member") return problem("forbidden");
    const fresh = { workspaceId: newId(parts), organisationId, name: body.name };
    const created = await createWorkspace(parts.db, fresh, { userId, now: parts.clock.now() });
    if (created !== "made") return problem(created);
    const workspace = await findWorkspaceAccess(parts.db, userId, fresh.workspaceId);
    return workspace === null ? problem("not_found") : answer(201, toWorkspaceSummary(workspace));
  },

  "GET /v1/organisations/:org/members": async ({ parts, organisationId, answer }) => {
    const members = await listOrganisationMembers(parts.db, organisationId);
    const people = await parts.accounts.getPeople(members.map(({ userId }) => userId));
    const items = members.map(({ userId, role, joinedAt }) => ({
      user_id: userId,
      name: people.get(userId)?.name ?? "",
      email: people.get(userId)?.email ?? null,
      role,
      joined_at: formatInstant(joinedAt),
    }));
    return answer(200, { items });
  },

  "PATCH /v1/organisations/:org/members/:user": (call) => changeRole(call, call.body.role),

  /** Removes a member from the organisation and all its workspaces. */
  "DELETE /v1/organisations/:org/members/:user": (call) => changeRole(call, null),
} satisfies Partial<ApiHandlers>;

async function changeRole(
  { parts, actor, organisationId, params, answer }: ApiCall<"DELETE /v1/organisations/:org/members/:user">,
  role: OrganisationRole | null,
): Promise<Response> {
  const change = { userId: actor.userId, now: parts.clock.now() };
  const outcome = await changeOrganisationRole(parts.db, organisationId, params.user, role, change);
  return outcome === "changed" ? answer(204) : problem(outcome);
}
