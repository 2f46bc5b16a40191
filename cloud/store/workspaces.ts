import type { Selectable } from "kysely";
import type { Plan } from "../../core/values/plan.ts";
import { readMembershipRole } from "./members.ts";
import type { CloudDatabase } from "./open-database.ts";
import { type OrganisationRole, readOrganisationRole } from "./organisations.ts";
import type { CloudSchema } from "./schema.ts";
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
  return await inScope(db, { workspaceId, userId }, async (trx) => {
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

/** Lists the workspaces that a person can access, by name. */
export async function listWorkspaces(db: CloudDatabase, userId: string): Promise<readonly WorkspaceAccess[]> {
  return await inScope(db, { userId }, async (trx) => {
    const memberships = await trx
      .selectFrom("memberships")
      .select(["workspace_id", "role"])
      .where("user_id", "=", userId)
      .where("removed_at", "is", null)
      .execute();
    const organisations = await trx
      .selectFrom("organisation_members")
      .select(["organisation_id", "role"])
      .where("user_id", "=", userId)
      .where("removed_at", "is", null)
      .execute();
    const workspaces = new Map<string, AccessRow>();
    const select = () => trx.selectFrom("workspaces").select(ACCESS_COLUMNS).where("deleted_at", "is", null);
    for (const { organisation_id: id, role } of organisations) {
      if (role === "member") continue;
      await enterOrganisation(trx, id);
      for (const row of await select().where("organisation_id", "=", id).execute())
        workspaces.set(row.workspace_id, row);
    }
    const ids = memberships.map(({ workspace_id }) => workspace_id);
    if (ids.length > 0) {
      await showWorkspaces(trx, ids);
      for (const row of await select().where("workspace_id", "in", ids).execute())
        workspaces.set(row.workspace_id, row);
    }
    const roleIn = new Map(memberships.map((row) => [row.workspace_id, row.role]));
    const roleOf = new Map(organisations.map((row) => [row.organisation_id, row.role]));
    const found = [...workspaces.values()].flatMap((row) => {
      const roles = {
        workspace: roleIn.get(row.workspace_id) ?? null,
        organisation: roleOf.get(row.organisation_id) ?? null,
      };
      return toAccess(row, roles) ?? [];
    });
    return found.sort((one, other) => one.name.localeCompare(other.name, "en"));
  });
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
