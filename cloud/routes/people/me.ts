import type { Context } from "hono";
import type { Me } from "../../../core/wire/mod.ts";
import type { CloudEnv, CloudParts } from "../../ports.ts";
import { listOrganisations } from "../../store/organisations.ts";
import type { WorkspaceAccess } from "../../store/workspaces.ts";
import { listWorkspaces } from "../../store/workspaces.ts";
import { toOrganisationSummary, toWorkspaceSummary } from "./summaries.ts";

/** `GET /v1/me`: the caller, and where they may go. */
export async function getMe(parts: CloudParts, context: Context<CloudEnv>): Promise<Response> {
  const { userId, name, email, keyWorkspaceId } = context.get("actor");
  const workspaces = await reachableWorkspaces(parts, context);
  // A key reaches a workspace, and nothing of the organisation.
  const organisations = keyWorkspaceId === null ? await listOrganisations(parts.db, userId) : [];
  const answer: Me = {
    user: { id: userId, name, email },
    organisations: organisations.map(toOrganisationSummary),
    workspaces: workspaces.map(toWorkspaceSummary),
  };
  return context.json(answer);
}

/** `GET /v1/workspaces`. */
export async function getWorkspaces(parts: CloudParts, context: Context<CloudEnv>): Promise<Response> {
  return context.json({ items: (await reachableWorkspaces(parts, context)).map(toWorkspaceSummary) });
}

async function reachableWorkspaces(
  parts: CloudParts,
  context: Context<CloudEnv>,
): Promise<readonly WorkspaceAccess[]> {
  const { userId, keyWorkspaceId } = context.get("actor");
  const all = await listWorkspaces(parts.db, userId);
  return all.filter(({ workspaceId }) => keyWorkspaceId === null || workspaceId === keyWorkspaceId);
}
