import type { Context } from "hono";
import { html } from "hono/html";
import { isUuid } from "../../core/values/uuid.ts";
import { isStorableText } from "../../core/wire/characters.ts";
import type { CloudEnv } from "../ports.ts";
import { stopSummary } from "../store/weekly-summaries.ts";
import { renderDone } from "./done-messages.ts";
import { renderLayout } from "./layout.ts";
import type { PageEnv } from "./page-parts.ts";

/**
 * `GET /unsubscribe`: asks whether to end the weekly emails about a workspace. It changes nothing, because programs open the links in
 * emails too.
 */
export async function getUnsubscribe(_: PageEnv, context: Context<CloudEnv>): Promise<Response> {
  const { search } = new URL(context.req.url);
  const body = html`<section><h1>Weekly summary</h1><p>Stop the weekly emails about this workspace? You can start them again on the page Account.</p>
<form method="post" action="/unsubscribe${search}"><div class="actions"><button>Stop the emails</button></div></form></section>`;
  return context.html(await renderLayout({ title: "Weekly summary", body, person: null }));
}

/**
 * `POST /unsubscribe`: ends the emails. It needs only the link, and accepts requests from any site, because mail programs send them
 * (RFC 8058). An unknown link gets the same answer.
 */
export async function postUnsubscribe({ parts }: PageEnv, context: Context<CloudEnv>): Promise<Response> {
  const { workspace = "", person = "", token = "" } = context.req.query();
  if (isUuid(workspace) && token !== "" && isStorableText(person + token))
    await stopSummary(parts.db, { userId: person, workspaceId: workspace }, token);
  const body = html`<section><h1>Weekly summary</h1>${renderDone("The weekly summary is off.")}<p><a href="/account">Account</a></p></section>`;
  return context.html(await renderLayout({ title: "Weekly summary", body, person: null }));
}
