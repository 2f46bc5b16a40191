import type { Selectable, Transaction } from "kysely";
import type { Plan } from "../../core/values/plan.ts";
import { workspacesOf, workspacesOfMember } from "./directory.ts";
import { readMembershipRole } from "./members.ts";
import type { CloudDatabase } from "./open-database.ts";
import { readOrganisationRole } from "./organisations.ts";
import type { CloudSchema, OrganisationRole } from "./schema.ts";
import { enterOrganisation, inScope, showWorkspaces } from "./transaction.ts";

/** A workspace in service, with the caller's role in it. */
export interface WorkspaceAccess {
  readonly workspaceId: string;
  readonly organisationId: string;
  readonly name: string;
  readonly plan: Plan;
  readonly storePromptContent: boolean;
  readonly dataRetentionDays: number;
  readonly auditLogRetentionDays: number;
  /** The IANA name of the zone of its days. */
  readonly reportingZone: string;
  /** An owner or admin of the organisation is admin of all its workspaces. */
  readonly role: "member" | "admin";
  readonly isOrganisationOwner: boolean;
}

const ACCESS_COLUMNS = [
  "workspace_id",
  "organisation_id",
  "name",
  "plan",
  "store_prompt_content",
  "data_retention_days",
  "audit_log_retention_days",
  "reporting_zone",
] as const;

type AccessRow = Pick<Selectable<CloudSchema["workspaces"]>, (typeof ACCESS_COLUMNS)[number]>;

/** A person's roles that decide about a workspace; null: none. */
interface Roles {
  readonly workspace: "admin" | "member" | null;
  readonly organisation: OrganisationRole | null;
}

/** Finds a workspace with the person's role; null if it is unknown or deleted, or they cannot access it. */
export async function findWorkspaceAccess(
  db: CloudDatabase,
  userId: string,
  workspaceId: string,
): Promise<WorkspaceAccess | null> {
  return await inScope(db, { workspaceId }, async (trx) => {
    const workspace = await trx
      .selectFrom("workspaces")
      .select(ACCESS_COLUMNS)
      .where("workspace_id", "=", workspaceId)
      .where("deleted_at", "is", null)
      .executeTakeFirst();
    if (workspace === undefined) return null;
    const membership = await readMembershipRole(trx, workspaceId, userId);
    const organisation = await readOrganisationRole(trx, workspace.organisation_id, userId);
    return toAccess(workspace, { workspace: membership, organisation });
  });
}

/** Lists the workspaces that a person can access, by name. Reads each on its own; the directory says which. */
export async function listWorkspaces(db: CloudDatabase, userId: string): Promise<readonly WorkspaceAccess[]> {
  return await inScope(db, { userId }, async (trx) => {
    const ids = new Set(await workspacesOfMember(trx, userId));
    const organisations = await trx
      .selectFrom("organisation_members")
      .select(["organisation_id", "role"])
      .where("user_id", "=", userId)
      .where("removed_at", "is", null)
      .execute();
    for (const { organisation_id: id, role } of organisations) {
      if (role === "member") continue;
      await enterOrganisation(trx, id);
      for (const workspaceId of await workspacesOf(trx, id)) ids.add(workspaceId);
    }
    if (ids.size === 0) return [];
    await showWorkspaces(trx, [...ids]);
    const rows = await Promise.all([...ids].map((id) => readWithRole(trx, id, userId)));
    const roleOf = new Map(organisations.map((row) => [row.organisation_id, row.role]));
    const found = rows.flatMap((row) => {
      if (row === undefined) return [];
      const organisation = roleOf.get(row.organisation_id) ?? null;
      return toAccess(row, { workspace: row.role, organisation }) ?? [];
    });
    return found.sort((one, other) => one.name.localeCompare(other.name, "en"));
  });
}

/** Reads a workspace in service with the person's role as its member. */
async function readWithRole(trx: Transaction<CloudSchema>, workspaceId: string, userId: string) {
  return await trx
    .selectFrom("workspaces as w")
    .leftJoin("memberships as m", (join) =>
      join
        .onRef("m.workspace_id", "=", "w.workspace_id")
        .on("m.user_id", "=", userId)
        .on("m.removed_at", "is", null),
    )
    .select(ACCESS_COLUMNS.map((column) => `w.${column}` as const))
    .select("m.role")
    .where("w.workspace_id", "=", workspaceId)
    .where("w.deleted_at", "is", null)
    .executeTakeFirst();
}

/** Returns the access that a person's roles give; null for none. */
function toAccess(row: AccessRow, roles: Roles): WorkspaceAccess | null {
  const runsOrganisation = roles.organisation === "owner" || roles.organisation === "admin";
  if (roles.workspace === null && !runsOrganisation) return null;
  return {
    workspaceId: row.workspace_id,
    organisationId: row.organisation_id,
    name: row.name,
    plan: row.plan,
    storePromptContent: row.store_prompt_content,
    dataRetentionDays: row.data_retention_days,
    auditLogRetentionDays: row.audit_log_retention_days,
    reportingZone: row.reporting_zone,
    role: runsOrganisation || roles.workspace === "admin" ? "admin" : "member",
    isOrganisationOwner: roles.organisation === "owner",
  };
}
