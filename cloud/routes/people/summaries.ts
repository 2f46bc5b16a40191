import type { OrganisationSummary, WorkspaceSummary } from "../../../core/wire/people.ts";
import type { OrganisationAccess } from "../../store/organisations.ts";
import type { WorkspaceAccess } from "../../store/workspaces.ts";

/** Converts a workspace to its wire format. */
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

/** Converts an organisation to its wire format. */
export function toOrganisationSummary({
  organisationId,
  name,
  role,
}: OrganisationAccess): OrganisationSummary {
  return { id: organisationId, name, role };
}
