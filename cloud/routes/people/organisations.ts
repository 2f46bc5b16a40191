import type { Context, MiddlewareHandler } from "hono";
import {
  formatInstant,
  newOrganisationSchema,
  newWorkspaceSchema,
  type OrganisationCreated,
  type OrganisationMembers,
  organisationMemberPatchSchema,
} from "../../../core/wire/mod.ts";
import { problem } from "../../errors.ts";
import { newId } from "../../new-id.ts";
import type { CloudEnv, CloudParts } from "../../ports.ts";
import { readSmallPayload } from "../../read-payload.ts";
import {
  changeOrganisationRole,
  createOrganisation,
  createWorkspace,
  findOrganisationAccess,
  listOrganisationMembers,
  listOrganisations,
  type OrganisationRole,
} from "../../store/organisations.ts";
import { findWorkspaceAccess } from "../../store/workspaces.ts";
import { isUuid } from "../../uuid.ts";
import { toOrganisationSummary, toWorkspaceSummary } from "./summaries.ts";

/** Most organisations that somebody makes. Decision: far more than one needs, few enough that a loop ends. */
const MAX_OWNED_ORGANISATIONS = 20;

/**
 * Lets a caller through to the organisation of the path (`:org`) whose role there is one of these; after `requireActor`.
 * 404 for one that is unknown, deleted or somebody else's; 403 for the role.
 */
export function requireOrganisation(
  parts: CloudParts,
  roles: readonly OrganisationRole[],
): MiddlewareHandler<CloudEnv> {
  return async (context, next) => {
    const id = organisationOf(context);
    const access = isUuid(id)
      ? await findOrganisationAccess(parts.db, context.get("actor").userId, id)
      : null;
    if (access === null) return problem("not_found");
    if (!roles.includes(access.role)) return problem("forbidden");
    return await next();
  };
}

const organisationOf = (context: Context<CloudEnv>) => (context.req.param("org") ?? "").toLowerCase();

/** `GET /v1/organisations`: the caller's own. */
export async function getOrganisations(parts: CloudParts, context: Context<CloudEnv>): Promise<Response> {
  const own = await listOrganisations(parts.db, context.get("actor").userId);
  return context.json({ items: own.map(toOrganisationSummary) });
}

/** `POST /v1/organisations`: an organisation, its owner the caller, with a first workspace. */
export async function postOrganisation(parts: CloudParts, context: Context<CloudEnv>): Promise<Response> {
  const read = await readSmallPayload(context.req.raw, newOrganisationSchema);
  if (!read.ok) return read.refusal;
  const { userId } = context.get("actor");
  const owned = (await listOrganisations(parts.db, userId)).filter(({ role }) => role === "owner");
  if (owned.length >= MAX_OWNED_ORGANISATIONS) return problem("too_many_organisations");
  const { name } = read.value;
  const fresh = {
    organisationId: newId(parts),
    name,
    workspaceId: newId(parts),
    workspaceName: read.value.workspace_name ?? name,
    ownerUserId: userId,
  };
  await createOrganisation(parts.db, fresh, { userId, now: parts.clock.now() });
  const workspace = await findWorkspaceAccess(parts.db, userId, fresh.workspaceId);
  if (workspace === null) return problem("not_found");
  const answer: OrganisationCreated = {
    organisation: { id: fresh.organisationId, name, role: "owner" },
    workspace: toWorkspaceSummary(workspace),
  };
  return context.json(answer, 201);
}

/** `POST /v1/workspaces`, by who runs the organisation. */
export async function postWorkspace(parts: CloudParts, context: Context<CloudEnv>): Promise<Response> {
  const read = await readSmallPayload(context.req.raw, newWorkspaceSchema);
  if (!read.ok) return read.refusal;
  const { userId } = context.get("actor");
  const organisationId = read.value.organisation_id.toLowerCase();
  const access = await findOrganisationAccess(parts.db, userId, organisationId);
  if (access === null) return problem("not_found");
  if (access.role === "member") return problem("forbidden");
  const fresh = { workspaceId: newId(parts), organisationId, name: read.value.name };
  const made = await createWorkspace(parts.db, fresh, { userId, now: parts.clock.now() });
  if (made !== "made") return problem(made);
  const workspace = await findWorkspaceAccess(parts.db, userId, fresh.workspaceId);
  return workspace === null ? problem("not_found") : context.json(toWorkspaceSummary(workspace), 201);
}

/** `GET /v1/organisations/{org}/members`. */
export async function getOrganisationMembers(
  parts: CloudParts,
  context: Context<CloudEnv>,
): Promise<Response> {
  const members = await listOrganisationMembers(parts.db, organisationOf(context));
  const people = await parts.accounts.people(members.map(({ userId }) => userId));
  const answer: OrganisationMembers = {
    items: members.map(({ userId, role, joinedAt }) => ({
      user_id: userId,
      name: people.get(userId)?.name ?? "",
      email: people.get(userId)?.email ?? null,
      role,
      joined_at: formatInstant(joinedAt),
    })),
  };
  return context.json(answer);
}

/** `PATCH /v1/organisations/{org}/members/{user}`, by an owner: another role. */
export async function patchOrganisationMember(
  parts: CloudParts,
  context: Context<CloudEnv>,
): Promise<Response> {
  const read = await readSmallPayload(context.req.raw, organisationMemberPatchSchema);
  return read.ok ? await changeRole(parts, context, read.value.role) : read.refusal;
}

/** `DELETE /v1/organisations/{org}/members/{user}`, by an owner: out of the organisation and all its workspaces. */
export async function deleteOrganisationMember(
  parts: CloudParts,
  context: Context<CloudEnv>,
): Promise<Response> {
  return await changeRole(parts, context, null);
}

async function changeRole(
  parts: CloudParts,
  context: Context<CloudEnv>,
  role: OrganisationRole | null,
): Promise<Response> {
  const userId = context.req.param("user") ?? "";
  const change = { userId: context.get("actor").userId, now: parts.clock.now() };
  const outcome = await changeOrganisationRole(parts.db, organisationOf(context), userId, role, change);
  return outcome === "changed" ? context.body(null, 204) : problem(outcome);
}
