import { checkPlan } from "../../core/privacy/plans/plan-table.ts";
import { isUuid } from "../../core/values/uuid.ts";
import type { ApiRoute } from "../api/api-routes.ts";
import { problem } from "../http/problem.ts";
import type { OrRefusal } from "../http/read-payload.ts";
import type { CloudDatabase } from "../store/open-database.ts";
import { findOrganisationAccess } from "../store/organisations.ts";
import type { WorkspaceAccess } from "../store/workspaces.ts";
import type { Actor } from "./actor.ts";
import { findReachableWorkspace } from "./reachable-workspaces.ts";

/**
 * Finds the workspace of a path and checks the caller's role in it and its plan. Answers the same 404 if the workspace is
 * unknown, deleted, malformed or not accessible; then 403 for the role, then 403 for the plan.
 */
export async function authoriseInWorkspace(
  db: CloudDatabase,
  actor: Actor,
  workspaceId: string,
  policy: NonNullable<ApiRoute["workspace"]>,
): Promise<OrRefusal<WorkspaceAccess>> {
  const access = await findReachableWorkspace(db, actor, workspaceId);
  if (access === null) return { ok: false, refusal: problem("not_found") };
  const refusal = checkStanding(access, policy);
  return refusal === null ? { ok: true, value: access } : { ok: false, refusal };
}

/** Checks the caller's role in a workspace, then its plan. Returns the refusal, or null. */
export function checkStanding(
  access: WorkspaceAccess,
  { role, feature }: NonNullable<ApiRoute["workspace"]>,
): Response | null {
  const hasRole =
    role === undefined || (role === "owner" ? access.isOrganisationOwner : access.role === "admin");
  if (!hasRole) return problem("forbidden");
  if (feature === undefined) return null;
  const verdict = checkPlan(access.plan, feature);
  return verdict.ok ? null : problem("plan_required", { requiredPlan: verdict.requiredPlan });
}

/**
 * Checks the caller's role in the organisation of a path and returns the organisation's id. Answers 404 if the organisation is
 * unknown, deleted or not the caller's; 403 for another role.
 */
export async function authoriseInOrganisation(
  db: CloudDatabase,
  actor: Actor,
  organisationId: string,
  { roles }: NonNullable<ApiRoute["organisation"]>,
): Promise<OrRefusal<string>> {
  const id = organisationId.toLowerCase();
  const access = isUuid(id) ? await findOrganisationAccess(db, actor.userId, id) : null;
  if (access === null) return { ok: false, refusal: problem("not_found") };
  if (!roles.includes(access.role)) return { ok: false, refusal: problem("forbidden") };
  return { ok: true, value: id };
}
