import type { Context } from "hono";
import { html } from "hono/html";
import type { CloudEnv } from "../ports.ts";
import { passDoneOn, renderDone, takeDone } from "./done-messages.ts";
import { renderLayout } from "./layout.ts";
import { requireVisitor } from "./page-call.ts";
import { type PageEnv, redirectTo } from "./page-parts.ts";
import { PLAN_NAMES } from "./plan-names.ts";

/** `GET /`: redirects to the visitor's only workspace, or lists the workspaces. */
export async function getHome(env: PageEnv, context: Context<CloudEnv>): Promise<Response> {
  const visitor = await requireVisitor(env, context, "/");
  if (!visitor.ok) return visitor.refusal;
  const { person, workspaces } = visitor.value;
  const [only] = workspaces;
  const { searchParams } = new URL(context.req.url);
  if (only !== undefined && workspaces.length === 1)
    return redirectTo(passDoneOn(`/w/${only.workspaceId}`, "/", searchParams));
  const list = html`<ul class="places">${workspaces.map(
    ({ workspaceId, name, plan }) =>
      html`<li><a href="/w/${workspaceId}"><bdi>${name}</bdi></a> <span class="quiet">${PLAN_NAMES[plan]}</span></li>`,
  )}</ul>`;
  const none = html`<p>You are not a member of any workspace yet. An administrator of one can invite you.</p>`;
  const body = html`<section><h1>Workspaces</h1>${renderDone(takeDone("/", searchParams))}${only === undefined ? none : list}<p><a href="/account">Account and organisations</a></p></section>`;
  return context.html(renderLayout({ title: "Workspaces", body, person }));
}
