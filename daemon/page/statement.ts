import type { Context } from "hono";
import { showStatement } from "../../pages/statement-page.ts";
import type { ApiPorts } from "../api/api-ports.ts";
import { parametersOf, placeOf, showPage } from "./show-page.ts";
import { createUsageHost } from "./usage-pages.ts";

/** Answers with the statement of a month of this machine. */
export async function answerStatement(ports: ApiPorts, context: Context, month: string | null) {
  const shown = await showStatement(
    {
      usage: createUsageHost(ports, context),
      zone: placeOf(ports).zone,
      subject: "this machine",
      hasPeople: false,
      hashText: ports.sha256Hex,
    },
    month,
    parametersOf(context),
  );
  if (shown.kind === "redirect") return context.redirect(shown.href, 303);
  if (shown.kind === "page") return showPage(ports, context, shown.page, shown.status);
  context.header("content-disposition", `attachment; filename="${shown.name}"`);
  return context.body(shown.text, 200, { "content-type": shown.type });
}
