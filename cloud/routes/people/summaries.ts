import type { OrganisationSummary, WorkspaceSummary } from "../../../core/wire/mod.ts";
import type { OrganisationAccess } from "../../store/organisations.ts";
import type { WorkspaceAccess } from "../../store/workspaces.ts";

/** A workspace as the wire says it. */
export function toWorkspaceSummary(workspace: WorkspaceAccess): WorkspaceSummary {
  return {
    id: workspace.workspaceId,
    organisation_id: workspace.organisationId,
    name: workspace.name,
    plan: workspace.plan,
    role: workspace.role,
    store_prompt_content: workspace.storePromptContent,
  };
}

/** An organisation as the wire says it. */
export function toOrganisationSummary({
  organisationId,
  name,
  role,
}: OrganisationAccess): OrganisationSummary {
  return { id: organisationId, name, role };
}
