import type { Html } from "../../pages/html.ts";
import { renderTools, type ViewTools } from "../../pages/tools.ts";
import type { PageCall } from "./page-call.ts";

/**
 * Renders the exports of a page whose data is at a path of the workspace's API. There is no command to copy: `meter`
 * reads one machine.
 */
export function toolsOf({ env, workspace }: PageCall, path: string, { command, ...tools }: ViewTools): Html {
  const address = `${env.parts.config.baseUrl}/v1/workspaces/${workspace.workspaceId}${path}`;
  return renderTools({ curl: `curl -H "Authorization: Bearer $METER_ADMIN_KEY" '${address}'`, ...tools });
}
