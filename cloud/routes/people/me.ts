import type { Context } from "hono";
import type { Me } from "../../../core/wire/mod.ts";
import type { CloudEnv, CloudParts } from "../../ports.ts";
import { listReachableWorkspaces } from "../../reachable-workspaces.ts";
import { listOrganisations } from "../../store/organisations.ts";
import { toOrganisationSummary, toWorkspaceSummary } from "./summaries.ts";

/** `GET /v1/me`: the caller, and where they may go. */
export async function getMe(parts: CloudParts, context: Context<CloudEnv>): Promise<Response> {
  const actor = context.get("actor");
  const { userId, name, email, keyWorkspaceId } = actor;
  const workspaces = await listReachableWorkspaces(parts.db, actor);
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
  const workspaces = await listReachableWorkspaces(parts.db, context.get("actor"));
  return context.json({ items: workspaces.map(toWorkspaceSummary) });
}
