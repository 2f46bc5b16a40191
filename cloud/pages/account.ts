import type { Context } from "hono";
import { html } from "hono/html";
import { parseWire } from "../../core/wire/parse.ts";
import { organisationCreatedSchema, organisationsSchema } from "../../core/wire/people.ts";
import type { Html } from "../../pages/html.ts";
import type { CloudEnv } from "../ports.ts";
import { listOwnSummaries } from "../store/weekly-summaries.ts";
import { describeProblem } from "./describe-problem.ts";
import { renderDone, takeDone, withDone } from "./done-messages.ts";
import { field, notice, renderLayout } from "./layout.ts";
import { requireVisitor, type Visitor } from "./page-call.ts";
import { type PageEnv, readForm, redirectTo, renderFormError } from "./page-parts.ts";
import { PLAN_NAMES } from "./plan-names.ts";

/** The word that confirms the deletion of an account. */
const CONFIRMATION = "delete";

/** `GET /account`: the person, their organisations and workspaces, a new organisation, and deleting the account. */
export async function getAccount(env: PageEnv, context: Context<CloudEnv>): Promise<Response> {
  const visitor = await requireVisitor(env, context, "/account");
  if (!visitor.ok) return visitor.refusal;
  const done = takeDone("/account", new URL(context.req.url).searchParams);
  return context.html(await accountPage(env, context, visitor.value, null, done));
}

/** `POST /account`: creates an organisation with its first workspace, or deletes the account. */
export async function postAccount(env: PageEnv, context: Context<CloudEnv>): Promise<Response> {
  const visitor = await requireVisitor(env, context, "/account");
  if (!visitor.ok) return visitor.refusal;
  const form = await readForm(context);
  if (!form.ok) return form.refusal;
  const again = async (message: string, status: 409 | 422) =>
    await context.html(await accountPage(env, context, visitor.value, message), status);
  switch (form.value.get("action")) {
    case "organisation": {
      const name = form.value.get("name") ?? "";
      const answer = await env.callApi(context, "POST", "/v1/organisations", { name });
      if (answer.ok) {
        const created = parseWire(organisationCreatedSchema, await answer.json());
        if (!created.ok) throw new TypeError("the answer to a new organisation does not match its schema");
        return redirectTo(withDone(`/w/${created.value.workspace.id}`, "/", "organisation-created"));
      }
      if (answer.status !== 409 && answer.status !== 422) return answer;
      const message =
        answer.status === 422
          ? "Enter a name of 1 to 100 characters, in one line."
          : await describeProblem(answer);
      return await again(message, answer.status);
    }
    case "summary": {
      const workspace = encodeURIComponent(form.value.get("workspace") ?? "");
      const enabled = form.value.get("enabled") === "yes";
      const path = `/v1/workspaces/${workspace}/weekly-summary`;
      const answer = await env.callApi(context, "PATCH", path, { enabled });
      return answer.ok
        ? redirectTo(withDone("/account", "/account", enabled ? "summary-on" : "summary-off"))
        : answer;
    }
    case "delete": {
      if (form.value.get("confirmation")?.trim().toLowerCase() !== CONFIRMATION)
        return await again(`Type “${CONFIRMATION}” to confirm. Nothing was deleted.`, 422);
      const answer = await env.callApi(context, "DELETE", "/v1/account");
      if (answer.ok) return redirectTo(withDone("/sign-in", "/sign-in", "account-deleted"));
      if (answer.status !== 409) return answer;
      const page = await accountPage(env, context, visitor.value, await describeProblem(answer));
      return await renderFormError(context, answer, page);
    }
    default:
      return await again("The form names no known action.", 422);
  }
}

async function accountPage(
  { callApi, parts }: PageEnv,
  context: Context<CloudEnv>,
  { person, workspaces }: Visitor,
  message: string | null,
  done: string | null = null,
) {
  const answer = await callApi(context, "GET", "/v1/organisations");
  const organisations = parseWire(organisationsSchema, await answer.json());
  if (!organisations.ok) throw new TypeError("the answer of organisations does not match its schema");
  const { items } = organisations.value;
  const summaries = await listOwnSummaries(parts.db, person.userId);
  const body = html`<section><h1>Account</h1>
<dl><dt>Name</dt><dd><bdi>${person.name}</bdi></dd>${person.email === null ? "" : html`<dt>Email</dt><dd><bdi>${person.email}</bdi></dd>`}</dl>
${renderDone(done)}${notice(message)}
<h2>Workspaces</h2>
<ul class="places">${workspaces.map(
    ({ workspaceId, name, plan }) =>
      html`<li><a href="/w/${workspaceId}"><bdi>${name}</bdi></a> <span class="quiet">${PLAN_NAMES[plan]}</span></li>`,
  )}</ul>
${person.email === null ? "" : renderSummaries(workspaces, summaries)}
<h2>Organisations</h2>
${items.length === 0 ? html`<p class="quiet">You belong to no organisation.</p>` : html`<ul class="places">${items.map(({ id, name, role }) => html`<li>${role === "member" ? html`<bdi>${name}</bdi>` : html`<a href="/organisations/${id}"><bdi>${name}</bdi></a>`} <span class="quiet">${role}</span></li>`)}</ul>`}
<form method="post" action="/account"><input type="hidden" name="action" value="organisation">
${field({ name: "name", label: "New organisation", type: "text", autocomplete: "off", maxLength: 100, hint: "It gets a first workspace with the same name." })}
<div class="actions"><button class="second">Create an organisation</button></div></form>
<h2>Delete the account</h2>
<p>You are signed out, your keys and machines stop working, and your prompts can no longer be read. The rest is erased about 30 days later. Your tokens and costs stay in workspaces that others use, without your name.</p>
<form method="post" action="/account"><input type="hidden" name="action" value="delete">
${field({ name: "confirmation", label: "Confirmation", type: "text", autocomplete: "off", hint: `Type “${CONFIRMATION}” to confirm.` })}
<div class="actions"><button class="danger">Delete my account</button></div></form>
</section>`;
  return renderLayout({ title: "Account", body, person });
}

/** Renders a button for each workspace that starts or stops the person's weekly email about it. */
const renderSummaries = (workspaces: Visitor["workspaces"], own: ReadonlySet<string>): Html =>
  html`<h2>Weekly summary</h2><p>An email each Monday with last week's spend, by day, project and model.</p>
<ul class="places">${workspaces.map(({ workspaceId, name }) => {
    const isOn = own.has(workspaceId);
    return html`<li><bdi>${name}</bdi><form method="post" action="/account"><input type="hidden" name="action" value="summary"><input type="hidden" name="workspace" value="${workspaceId}"><input type="hidden" name="enabled" value="${isOn ? "no" : "yes"}"><button class="link">${isOn ? "Turn off" : "Turn on"}<span class="hidden"> the weekly summary of <bdi>${name}</bdi></span></button></form></li>`;
  })}</ul>`;
