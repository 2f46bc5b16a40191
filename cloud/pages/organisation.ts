import type { Context } from "hono";
import { html } from "hono/html";
import type * as v from "valibot";
import { parseWire } from "../../core/wire/parse.ts";
import {
  ORGANISATION_ROLES,
  type OrganisationSummary,
  organisationMembersSchema,
  organisationsSchema,
  workspaceSummarySchema,
} from "../../core/wire/people.ts";
import type { Html } from "../../pages/html.ts";
import { renderName } from "../../pages/names.ts";
import { problem } from "../http/problem.ts";
import type { OrRefusal } from "../http/read-payload.ts";
import type { CloudEnv } from "../ports.ts";
import { describeProblem } from "./describe-problem.ts";
import { renderDone, takeDone, withDone } from "./done-messages.ts";
import { field, notice, renderLayout } from "./layout.ts";
import { currentPath, requireVisitor, type Visitor } from "./page-call.ts";
import { type PageEnv, readForm, redirectTo } from "./page-parts.ts";

type OrganisationMember = v.InferOutput<typeof organisationMembersSchema>["items"][number];

/** A person who visits the page of an organisation that they own or administer. */
interface OrganisationVisitor extends Visitor {
  readonly organisation: OrganisationSummary;
  readonly members: readonly OrganisationMember[];
}

/** `GET /organisations/{org}`: the members with their roles, the workspaces, and a new workspace. */
export async function getOrganisation(env: PageEnv, context: Context<CloudEnv>): Promise<Response> {
  const visitor = await requireOrganisation(env, context);
  if (!visitor.ok) return visitor.refusal;
  const done = takeDone("/organisations", new URL(context.req.url).searchParams);
  return context.html(organisationPage(visitor.value, null, done));
}

/** `POST /organisations/{org}`: creates a workspace, changes a member's role or removes a member. */
export async function postOrganisation(env: PageEnv, context: Context<CloudEnv>): Promise<Response> {
  const visitor = await requireOrganisation(env, context);
  if (!visitor.ok) return visitor.refusal;
  const form = await readForm(context);
  if (!form.ok) return form.refusal;
  const { id } = visitor.value.organisation;
  const user = `/v1/organisations/${id}/members/${encodeURIComponent(form.value.get("user") ?? "")}`;
  const answer = await send(env, context, form.value, id, user);
  if (answer === null)
    return context.html(organisationPage(visitor.value, "The form names no known action."), 422);
  if (answer.ok) {
    const action = form.value.get("action");
    if (action !== "workspace")
      return redirectTo(
        withDone(`/organisations/${id}`, "/organisations", action === "role" ? "role" : "remove"),
      );
    const created = parseWire(workspaceSummarySchema, await answer.json());
    if (!created.ok) throw new TypeError("the answer to a new workspace does not match its schema");
    return redirectTo(withDone(`/w/${created.value.id}`, "/", "workspace-created"));
  }
  const { status } = answer;
  if (status !== 404 && status !== 409 && status !== 422) return answer;
  const isRole = form.value.get("action") === "role";
  const message = await describeProblem(answer, {
    wrong_shape: isRole
      ? "The role must be owner, admin or member."
      : "Enter a name of 1 to 100 characters, in one line.",
  });
  return context.html(organisationPage(visitor.value, message), status);
}

async function send(
  { callApi }: PageEnv,
  context: Context<CloudEnv>,
  form: URLSearchParams,
  organisationId: string,
  userPath: string,
): Promise<Response | null> {
  switch (form.get("action")) {
    case "workspace":
      return await callApi(context, "POST", "/v1/workspaces", {
        organisation_id: organisationId,
        name: form.get("name") ?? "",
      });
    case "role":
      return await callApi(context, "PATCH", userPath, { role: form.get("role") ?? "" });
    case "remove":
      return await callApi(context, "DELETE", userPath);
    default:
      return null;
  }
}

/** Returns the visitor of an organisation's page (`:org`), or why the API refuses to list its members. */
async function requireOrganisation(
  env: PageEnv,
  context: Context<CloudEnv>,
): Promise<OrRefusal<OrganisationVisitor>> {
  const visitor = await requireVisitor(
    env,
    context,
    context.req.method === "POST" ? "/" : currentPath(context),
  );
  if (!visitor.ok) return visitor;
  const own = await env.callApi(context, "GET", "/v1/organisations");
  if (!own.ok) return { ok: false, refusal: own };
  const organisations = parseWire(organisationsSchema, await own.json());
  if (!organisations.ok) throw new TypeError("the answer of organisations does not match its schema");
  const id = (context.req.param("org") ?? "").toLowerCase();
  const organisation = organisations.value.items.find((each) => each.id === id);
  if (organisation === undefined) return { ok: false, refusal: problem("not_found") };
  const answer = await env.callApi(context, "GET", `/v1/organisations/${id}/members`);
  if (!answer.ok) return { ok: false, refusal: answer };
  const members = parseWire(organisationMembersSchema, await answer.json());
  if (!members.ok) throw new TypeError("the answer of an organisation's members does not match its schema");
  return { ok: true, value: { ...visitor.value, organisation, members: members.value.items } };
}

function organisationPage(
  visitor: OrganisationVisitor,
  message: string | null,
  done: string | null = null,
): Html {
  const { organisation, members, workspaces, person } = visitor;
  const own = workspaces.filter(({ organisationId }) => organisationId === organisation.id);
  const action = `/organisations/${organisation.id}`;
  const isOwner = organisation.role === "owner";
  const body = html`<section><h1><bdi>${organisation.name}</bdi></h1>
<p class="quiet">You are ${{ owner: "an owner", admin: "an administrator", member: "a member" }[organisation.role]} of this organisation. Owners and administrators administer all of its workspaces.</p>
${renderDone(done)}${notice(message)}
<h2>Workspaces</h2>
<ul class="places">${own.map(({ workspaceId, name }) => html`<li><a href="/w/${workspaceId}"><bdi>${name}</bdi></a></li>`)}</ul>
<form method="post" action="${action}"><input type="hidden" name="action" value="workspace">
${field({ name: "name", label: "New workspace", type: "text", autocomplete: "off", maxLength: 100 })}
<div class="actions"><button class="second">Create a workspace</button></div></form>
<h2>Members</h2>
<ul class="places members">${members.map((member) => renderMember(member, action, isOwner))}</ul>
${isOwner ? "" : html`<p class="quiet">An owner changes roles and removes members.</p>`}
<p><a href="/account">Account</a></p></section>`;
  return renderLayout({ title: organisation.name, body, person });
}

function renderMember(
  { user_id: id, name, email, role }: OrganisationMember,
  action: string,
  isOwner: boolean,
): Html {
  const who = name || (email ?? "unnamed member");
  const change = html`<details><summary>Change<span class="hidden"> <bdi>${who}</bdi></span></summary>
<form method="post" action="${action}"><input type="hidden" name="action" value="role"><input type="hidden" name="user" value="${id}">
<label for="role-${id}">Role</label><select id="role-${id}" name="role">${ORGANISATION_ROLES.map((each) => html`<option value="${each}"${each === role ? html` selected` : ""}>${each}</option>`)}</select><div class="actions"><button class="second">Change the role</button></div></form>
<form method="post" action="${action}"><input type="hidden" name="action" value="remove"><input type="hidden" name="user" value="${id}"><div class="actions"><button class="danger">Remove from the organisation</button></div></form></details>`;
  return html`<li><span>${renderName(who)}${name === "" || email === null ? "" : html`<span class="sub"><bdi>${email}</bdi></span>`}${isOwner ? change : ""}</span> <span class="quiet">${role}</span></li>`;
}
