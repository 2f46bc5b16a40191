import { hashText } from "../../core/values/hash-text.ts";
import { showStatement } from "../../pages/statement-page.ts";
import type { PageAnswer, PageCall } from "./page-call.ts";
import { redirectTo } from "./page-parts.ts";
import { createUsageHost } from "./usage-pages.ts";

/** `GET /w/{ws}/statement/{month}`: the statement of a month. Without a month, leads to the last one that has ended. */
export async function showWorkspaceStatement(call: PageCall): Promise<PageAnswer> {
  const { env, context, workspace, place, parameters } = call;
  const { sha256 } = env.parts;
  const shown = await showStatement(
    {
      usage: createUsageHost(call),
      zone: place.zone,
      subject: workspace.name,
      hasPeople: true,
      hashText: (text) => hashText(text, sha256),
    },
    context.req.param("month") ?? null,
    parameters,
  );
  if (shown.kind === "redirect") return redirectTo(shown.href);
  if (shown.kind === "page") return { ...shown.page, status: shown.status };
  context.header("content-disposition", `attachment; filename="${shown.name}"`);
  return context.body(shown.text, 200, { "content-type": shown.type });
}
