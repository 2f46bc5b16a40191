import { quoteForShell } from "../../core/values/text/shell-words.ts";
import type { Html } from "../../pages/html.ts";
import type { PageFile } from "../../pages/page-file.ts";
import { renderTools, type ViewTools } from "../../pages/tools.ts";
import { readNames } from "../routes/reads/read-names.ts";
import type { PageCall } from "./page-call.ts";

/**
 * Renders the exports of a page whose data is at a path of the workspace's API. There is no command to copy: `meter`
 * reads one machine.
 */
export function toolsOf({ env, workspace }: PageCall, path: string, { command, ...tools }: ViewTools): Html {
  const address = `${env.parts.config.baseUrl}/v1/workspaces/${workspace.workspaceId}${path}`;
  const curl = `curl -H "Authorization: Bearer $METER_ADMIN_KEY" ${quoteForShell(address)}`;
  return renderTools({ curl, ...tools });
}

/** Reads the names of people by user ID. A page that can't read them shows the IDs. */
export const readNamesPart = ({ env, reader }: PageCall, ids: readonly string[]) =>
  reader.read<ReadonlyMap<string, string>>(
    "names of people",
    () => readNames(env.parts.accounts, ids),
    new Map(),
  );

/** Answers with a file. */
export function sendFile({ context }: PageCall, { name, type, text }: PageFile): Response {
  context.header("content-disposition", `attachment; filename="${name}"`);
  return context.body(text, 200, { "content-type": type });
}
