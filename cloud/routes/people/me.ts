import { listReachableWorkspaces } from "../../access/reachable-workspaces.ts";
import { listOrganisations } from "../../store/organisations.ts";
import type { ApiHandlers } from "../api-call.ts";
import { toOrganisationSummary, toWorkspaceSummary } from "./summaries.ts";

/** The routes about the caller. */
export const meHandlers = {
  "GET /v1/me": async ({ parts, actor, answer }) => {
    const { userId, name, email, keyWorkspaceId } = actor;
    const workspaces = await listReachableWorkspaces(parts.db, actor);
    // A key can access its workspace, but not the organisation.
    const organisations = keyWorkspaceId === null ? await listOrganisations(parts.db, userId) : [];
    return answer(200, {
      user: { id: userId, name, email },
      organisations: organisations.map(toOrganisationSummary),
      workspaces: workspaces.map(toWorkspaceSummary),
    });
  },

  "GET /v1/workspaces": async ({ parts, actor, answer }) => {
    const workspaces = await listReachableWorkspaces(parts.db, actor);
    return answer(200, { items: workspaces.map(toWorkspaceSummary) });
  },
} satisfies Partial<ApiHandlers>;
