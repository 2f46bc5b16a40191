import { sql } from "kysely";
import type { Plan } from "../../core/values/plan.ts";
import type { CloudDatabase } from "./open-database.ts";
import { inScope } from "./transaction.ts";

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

const ACCESS_COLUMNS = sql`w.workspace_id, w.organisation_id, w.name, w.plan, w.store_prompt_content,
  w.data_retention_days, w.audit_log_retention_days, w.reporting_zone, o.role as organisation_role, s.role as workspace_role`;

interface AccessRow {
  workspace_id: string;
  organisation_id: string;
  name: string;
  plan: Plan;
  store_prompt_content: boolean;
  data_retention_days: number;
  audit_log_retention_days: number;
  reporting_zone: string;
  organisation_role: "owner" | "admin" | "member" | null;
  workspace_role: "admin" | "member" | null;
}

/** Who can access a workspace: its members, and the owners and admins of its organisation. */
const HAS_ACCESS = sql`w.deleted_at is null and (s.role is not null or o.role in ('owner', 'admin'))`;

/** Finds a workspace with the person's role; null if it is unknown or deleted, or they cannot access it. */
export async function findWorkspaceAccess(
  db: CloudDatabase,
  userId: string,
  workspaceId: string,
): Promise<WorkspaceAccess | null> {
  const rows = await inScope(db, { workspaceId, userId }, async (trx) => {
    const found = await sql<AccessRow>`
      select ${ACCESS_COLUMNS} from workspaces w
      left join memberships s
        on s.workspace_id = w.workspace_id and s.user_id = ${userId} and s.removed_at is null
      left join organisation_members o
        on o.organisation_id = w.organisation_id and o.user_id = ${userId} and o.removed_at is null
      where w.workspace_id = ${workspaceId}::uuid and ${HAS_ACCESS}`.execute(trx);
    return found.rows;
  });
  return rows[0] === undefined ? null : toAccess(rows[0]);
}

/** Lists the workspaces that a person can access, by name. */
export async function listWorkspaces(db: CloudDatabase, userId: string): Promise<readonly WorkspaceAccess[]> {
  // Row-level security shows a person's own memberships, and the workspaces of those and of one organisation at a time.
  const organisations = await inScope(db, { userId }, (trx) =>
    trx
      .selectFrom("organisation_members")
      .select("organisation_id")
      .where("user_id", "=", userId)
      .where("role", "in", ["owner", "admin"])
      .where("removed_at", "is", null)
      .execute(),
  );
  const found = new Map<string, WorkspaceAccess>();
  for (const organisationId of [null, ...organisations.map(({ organisation_id }) => organisation_id)]) {
    const scope = organisationId === null ? { userId } : { userId, organisationId };
    const rows = await inScope(db, scope, async (trx) => {
      const listed = await sql<AccessRow>`
        select ${ACCESS_COLUMNS} from workspaces w
        left join memberships s
          on s.workspace_id = w.workspace_id and s.user_id = ${userId} and s.removed_at is null
        left join organisation_members o
          on o.organisation_id = w.organisation_id and o.user_id = ${userId} and o.removed_at is null
        where ${HAS_ACCESS}`.execute(trx);
      return listed.rows;
    });
    for (const row of rows) found.set(row.workspace_id, toAccess(row));
  }
  return [...found.values()].sort((one, other) => one.name.localeCompare(other.name, "en"));
}

function toAccess(row: AccessRow): WorkspaceAccess {
  const { organisation_role: organisationRole, workspace_role: workspaceRole } = row;
  const runsOrganisation = organisationRole === "owner" || organisationRole === "admin";
  return {
    workspaceId: row.workspace_id,
    organisationId: row.organisation_id,
    name: row.name,
    plan: row.plan,
    storePromptContent: row.store_prompt_content,
    dataRetentionDays: row.data_retention_days,
    auditLogRetentionDays: row.audit_log_retention_days,
    reportingZone: row.reporting_zone,
    role: runsOrganisation || workspaceRole === "admin" ? "admin" : "member",
    isOrganisationOwner: organisationRole === "owner",
  };
}
