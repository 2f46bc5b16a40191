import { html } from "hono/html";
import { parseWire } from "../../core/wire/parse.ts";
import {
  type Invitations,
  invitationCreatedSchema,
  invitationsSchema,
  type Members,
  membersSchema,
} from "../../core/wire/people.ts";
import type { Html } from "../../pages/html.ts";
import { renderName } from "../../pages/names.ts";
import { createPageFile, fileFormatOf, pageFiles } from "../../pages/page-file.ts";
import { renderUnread } from "../../pages/page-parts.ts";
import { renderTime } from "../../pages/times.ts";
import { renderCommand } from "../../pages/tools.ts";
import { renderRowButton } from "./action-form.ts";
import { describeProblem } from "./describe-problem.ts";
import { notice } from "./layout.ts";
import { membersCsv } from "./list-csv.ts";
import { type FormRoute, readRoute, readRoutePart, sendForm } from "./page-api.ts";
import type { PageAnswer, PageCall } from "./page-call.ts";
import { sendFile, toolsOf } from "./page-tools.ts";

const PATH = "/members";

type Member = Members["items"][number];

/** An invitation that was just sent: its link is shown once. */
interface Sent {
  readonly email: string;
  readonly link: string;
  readonly isMailed: boolean;
}

/** `GET /w/{ws}/members`: who belongs to the workspace and who is invited. */
export const showMembers = (call: PageCall): Promise<PageAnswer> => renderMembers(call, null, null);

/** `POST /w/{ws}/members`: invites, resends, revokes, changes a role or removes a member. */
export async function changeMembers(call: PageCall, form: URLSearchParams): Promise<PageAnswer> {
  const action = form.get("action");
  if (action === "invite" || action === "resend") return await invite(call, form, action);
  return await sendForm(call, PATH, routeOf(action, form), (message) => renderMembers(call, message, null));
}

function routeOf(action: string | null, form: URLSearchParams): FormRoute<typeof PATH> | null {
  const id = encodeURIComponent(form.get("id") ?? "");
  if (action === "revoke") return { method: "DELETE", path: `/invitations/${id}`, done: "revoke" };
  if (action === "remove") return { method: "DELETE", path: `/members/${id}`, done: "remove" };
  if (action === "role")
    return { method: "PATCH", path: `/members/${id}`, body: { role: form.get("role") }, done: "role" };
  return null;
}

/** Shows the link in the answer to the form, since it is not stored. */
async function invite(call: PageCall, form: URLSearchParams, action: string): Promise<PageAnswer> {
  const { env, context, workspace } = call;
  const base = `/v1/workspaces/${workspace.workspaceId}/invitations`;
  const answer =
    action === "resend"
      ? await env.callApi(context, "POST", `${base}/${encodeURIComponent(form.get("id") ?? "")}/resend`)
      : await env.callApi(context, "POST", base, { email: form.get("email"), role: form.get("role") });
  if (answer.ok) {
    const sent = parseWire(invitationCreatedSchema, await answer.json());
    if (!sent.ok) throw new TypeError("the answer to an invitation does not match its schema");
    const { email, link, mailed } = sent.value;
    return await renderMembers(call, null, { email, link, isMailed: mailed });
  }
  if (![404, 409, 422].includes(answer.status)) return answer;
  const message = answer.status === 422 ? "Enter an email address." : await describeProblem(answer);
  const page = await renderMembers(call, message, null);
  return page instanceof Response ? page : { ...page, status: answer.status as 404 };
}

async function renderMembers(call: PageCall, message: string | null, sent: Sent | null): Promise<PageAnswer> {
  const isAdmin = call.workspace.role === "admin";
  const members = await readRoute(call, "/members", membersSchema);
  if (!members.ok) return members.refusal;
  const pending = isAdmin
    ? await call.reader.read<Invitations | "unread">(
        "invitations",
        () => readRoutePart(call, "/invitations", invitationsSchema),
        "unread",
      )
    : null;
  const format = fileFormatOf(call.parameters);
  if (format !== null) {
    const [{ items }, invitations] = [members.value, pending === "unread" ? [] : (pending?.items ?? [])];
    const file = { csv: () => membersCsv(items, invitations), json: () => ({ items, invitations }) };
    return sendFile(call, createPageFile("members", format, file));
  }
  const main = html`${notice(message)}${sent === null ? "" : renderSent(sent)}
<section class="panel" aria-labelledby="members-title"><h2 id="members-title">Members</h2>
<div class="scroll"><table aria-label="Members"><thead><tr><th scope="col">Person</th><th scope="col" class="desk">Role</th><th scope="col" class="desk">Since</th>${isAdmin ? html`<th scope="col">Change</th>` : ""}</tr></thead>
<tbody>${members.value.items.map((member) => renderMember(call, member))}</tbody></table></div>
${isAdmin ? "" : html`<p class="quiet">An administrator of the workspace invites people and changes roles.</p>`}</section>
${pending === null ? "" : renderInvitations(call, pending)}`;
  const tools = toolsOf(call, PATH, pageFiles(call.place.base + PATH));
  return { heading: "Members", path: PATH, main, tools };
}

const renderSent = ({ email, link, isMailed }: Sent): Html =>
  html`<section class="panel" role="status"><h2>Invitation for <bdi>${email}</bdi></h2>
<p>${isMailed ? "The link was sent by email. It is also shown here, once:" : "No email could be sent. Give this link to the person; it is shown once:"}</p>
${renderCommand(link)}<p class="quiet">The link works for 7 days, and only for this email address.</p></section>`;

function renderMember({ workspace, place }: PageCall, member: Member): Html {
  const { user_id: id, name, email, role, via, joined_at: joinedAt } = member;
  const roleName = role === "admin" ? "administrator" : "member";
  const who = name === "" ? (email ?? "unnamed member") : name;
  const change =
    via === "organisation"
      ? html`<span class="quiet">by the organisation</span>`
      : html`<details><summary>Change<span class="hidden"> <bdi>${who}</bdi></span></summary>
<form method="post" class="form" action="${place.base}${PATH}"><input type="hidden" name="action" value="role"><input type="hidden" name="id" value="${id}">
<input type="hidden" name="role" value="${role === "admin" ? "member" : "admin"}">${renderRowButton(role === "admin" ? "Make a member" : "Make an administrator", who)}</form><p class="hint">If you remove them, their keys and machines here stop working. Their requests stay in the workspace's totals.</p>
<form method="post" class="form" action="${place.base}${PATH}"><input type="hidden" name="action" value="remove"><input type="hidden" name="id" value="${id}">${renderRowButton("Remove", who, "danger")}</form></details>`;
  return html`<tr><th scope="row" class="name">${renderName(who)}${name === "" || email === null ? "" : html`<span class="sub"><bdi>${email}</bdi></span>`}<span class="sub phone">${roleName}</span></th><td class="desk">${roleName}</td><td class="when desk">${renderTime(Date.parse(joinedAt), place, true)}</td>${workspace.role === "admin" ? html`<td>${change}</td>` : ""}</tr>`;
}

function renderInvitations({ place }: PageCall, pending: Invitations | "unread"): Html {
  const rows = pending === "unread" ? [] : pending.items;
  const button = (id: string, action: string, text: string, email: string) =>
    html`<form method="post" class="form" action="${place.base}${PATH}"><input type="hidden" name="action" value="${action}"><input type="hidden" name="id" value="${id}">${renderRowButton(text, email)}</form>`;
  const list = html`<div class="scroll"><table aria-label="Pending invitations"><thead><tr><th scope="col">Email</th><th scope="col" class="desk">Role</th><th scope="col" class="desk">Valid until</th><th scope="col">Change</th></tr></thead>
<tbody>${rows.map(
    ({ id, email, role, expires_at: expiresAt }) =>
      html`<tr><th scope="row" class="name"><bdi>${email}</bdi></th><td class="desk">${role === "admin" ? "administrator" : "member"}</td><td class="when desk">${renderTime(Date.parse(expiresAt), place, true)}</td><td>${button(id, "resend", "Send again", email)}${button(id, "revoke", "Revoke", email)}</td></tr>`,
  )}</tbody></table></div>`;
  return html`<section class="panel" aria-labelledby="invitations-title"><h2 id="invitations-title">Invitations</h2>
${pending === "unread" ? renderUnread("invitations") : rows.length === 0 ? html`<p class="quiet">No invitation is pending.</p>` : list}
<h3>Invite a person</h3><form method="post" class="form" action="${place.base}${PATH}"><input type="hidden" name="action" value="invite">
<label for="email">Email</label><input id="email" name="email" type="email" autocomplete="off" maxlength="254" required>
<label for="role">Role</label><select id="role" name="role"><option value="member">Member</option><option value="admin">Administrator</option></select>
<div class="actions"><button>Invite</button></div></form></section>`;
}
