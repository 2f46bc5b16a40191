import type { Context } from "hono";
import { html } from "hono/html";
import type { AccountPerson } from "../../core/ports/accounts.ts";
import { parseWire } from "../../core/wire/parse.ts";
import { type PairingCodeView, pairingCodeViewSchema } from "../../core/wire/people.ts";
import type { Html } from "../../pages/html.ts";
import type { CloudEnv } from "../ports.ts";
import { listMembers } from "../store/members.ts";
import { describeProblem } from "./describe-problem.ts";
import { notice, renderLayout } from "./layout.ts";
import { currentPath, requireVisitor, type Visitor } from "./page-call.ts";
import { type PageEnv, readForm, renderFormError } from "./page-parts.ts";

const UNKNOWN_CODE =
  "This code is unknown, already used or expired. A code is valid for 10 minutes. Run the command again on the machine to get a new one.";

/**
 * `GET /connect?code=XXXX-XXXX`: shows the machine that is waiting for the code. Without a code, shows a form for it. The
 * lookup goes through the API, which counts wrong codes.
 */
export async function getConnect(env: PageEnv, context: Context<CloudEnv>): Promise<Response> {
  const visitor = await requireVisitor(env, context, currentPath(context));
  if (!visitor.ok) return visitor.refusal;
  const typed = context.req.query("code") ?? "";
  if (typed === "") return context.html(codePage(env, visitor.value, "", null));
  const answer = await env.callApi(context, "GET", `/v1/pairing/codes/${encodeURIComponent(typed)}`);
  if (!answer.ok) return await renderRefusal(env, visitor.value, typed, answer, context);
  const machine = parseWire(pairingCodeViewSchema, await answer.json());
  if (!machine.ok) throw new TypeError("the pairing API's answer does not match its schema");
  return context.html(
    decisionPage(visitor.value, machine.value, await listAssignableMembers(env, visitor.value)),
  );
}

/** The members of one workspace whom an admin can choose as the user of a machine. */
interface AssignableMembers {
  readonly workspace: string;
  readonly people: readonly AccountPerson[];
}

/** Lists the other members of each workspace that the visitor administers. */
async function listAssignableMembers(
  { parts }: PageEnv,
  { person, workspaces }: Visitor,
): Promise<readonly AssignableMembers[]> {
  const found: AssignableMembers[] = [];
  for (const { workspaceId, name, role } of workspaces) {
    if (role !== "admin") continue;
    const members = await listMembers(parts.db, workspaceId);
    const others = members.map(({ userId }) => userId).filter((userId) => userId !== person.userId);
    const people = [...(await parts.accounts.getPeople(others)).values()];
    if (people.length > 0) found.push({ workspace: name, people });
  }
  return found;
}

/** `POST /connect`: approves or denies the machine through the API. */
export async function postConnect(env: PageEnv, context: Context<CloudEnv>): Promise<Response> {
  const visitor = await requireVisitor(env, context, "/connect");
  if (!visitor.ok) return visitor.refusal;
  const form = await readForm(context);
  if (!form.ok) return form.refusal;
  const typed = form.value.get("code") ?? "";
  const isApproved = form.value.get("decision") === "approve";
  const workspaceId = form.value.get("workspace_id") ?? "";
  const userId = form.value.get("user_id") || visitor.value.person.userId;
  const answer = await env.callApi(context, "POST", `/v1/pairing/${isApproved ? "approve" : "deny"}`, {
    code: typed,
    workspace_id: workspaceId,
    ...(isApproved ? { user_id: userId } : {}),
  });
  if (!answer.ok) return await renderRefusal(env, visitor.value, typed, answer, context);
  const workspace = visitor.value.workspaces.find((each) => each.workspaceId === workspaceId);
  const named = isApproved ? (await env.parts.accounts.getPeople([userId])).get(userId) : undefined;
  return context.html(decidedPage(visitor.value, isApproved, workspace, named));
}

async function renderRefusal(
  env: PageEnv,
  visitor: Visitor,
  typed: string,
  answer: Response,
  context: Context<CloudEnv>,
): Promise<Response> {
  const message = await describeRefusal(answer);
  return renderFormError(context, answer, codePage(env, visitor, typed, message));
}

const MESSAGES = {
  member_unknown: "That person is not a member of the workspace you chose. Nothing was approved.",
  forbidden: "Only a workspace administrator can choose another member. Nothing was approved.",
};

async function describeRefusal(answer: Response): Promise<string> {
  const { code } = (await answer.clone().json()) as { code?: unknown };
  const isCode = (answer.status === 404 || answer.status === 422) && code !== "member_unknown";
  return isCode ? UNKNOWN_CODE : await describeProblem(answer, MESSAGES);
}

function codePage(env: PageEnv, { person }: Visitor, typed: string, message: string | null): Html {
  const body = html`<section>
<h1>Connect a machine</h1>
${notice(message)}
<p>On the machine, run <code>meter cloud connect --base-url ${env.parts.config.baseUrl}</code>. It shows a code.</p>
<form method="get" action="/connect">
<label for="code">Code</label>
<input class="code" id="code" name="code" type="text" value="${typed}" placeholder="XXXX-XXXX" maxlength="64" autocomplete="off" autocapitalize="characters" spellcheck="false" required autofocus>
<div class="actions"><button>Continue</button></div>
</form>
</section>`;
  return renderLayout({ title: "Connect a machine", body, person });
}

function decisionPage(
  { person, workspaces }: Visitor,
  machine: PairingCodeView,
  assignable: readonly AssignableMembers[],
): Html {
  const none = html`<p class="notice bad" role="alert">You are not a member of any workspace. An administrator of one can invite you.</p>`;
  const choice = html`<label for="workspace_id">Workspace</label>
<select id="workspace_id" name="workspace_id" required>${workspaces.map(
    ({ workspaceId, name }) => html`<option value="${workspaceId}">${name}</option>`,
  )}</select>
<p class="hint">Members of the workspace will see this machine's requests: models, tokens and cost.</p>
${userChoice(person, assignable)}
<div class="actions">
<button name="decision" value="approve">Approve</button>
<button class="second" name="decision" value="deny">Deny</button>
</div>`;
  const body = html`<section>
<h1>Connect this machine?</h1>
<p>Approve only if you started this yourself and the machine shows the same code.</p>
<dl>
<dt>Code</dt><dd><strong>${machine.code}</strong></dd>
<dt>Machine</dt><dd><bdi>${machine.hostname}</bdi></dd>
<dt>Platform</dt><dd><bdi>${machine.platform}</bdi></dd>
<dt>Address</dt><dd>${machine.address ?? "unknown"}</dd>
</dl>
<form method="post" action="/connect">
<input type="hidden" name="code" value="${machine.code}">
${workspaces.length === 0 ? none : choice}
</form>
</section>`;
  return renderLayout({ title: "Connect a machine", body, person });
}

/** Renders the choice of who uses the machine: the visitor, or another member of a workspace that the visitor administers. */
function userChoice(person: AccountPerson, assignable: readonly AssignableMembers[]): Html {
  if (assignable.length === 0) {
    return html`<p class="hint">Its requests and prompts will belong to you, <bdi>${formatPerson(person)}</bdi>.</p>`;
  }
  const groups = assignable.map(
    ({ workspace, people }) =>
      html`<optgroup label="Other members of ${workspace}">${people.map(
        (each) => html`<option value="${each.userId}">${formatPerson(each)}</option>`,
      )}</optgroup>`,
  );
  return html`<label for="user_id">Who uses this machine?</label>
<select id="user_id" name="user_id" aria-describedby="user-hint">
<option value="">${formatPerson(person)} (you)</option>
${groups}
</select>
<p class="hint" id="user-hint">The machine's requests and prompts belong to this person. If it is not you, an administrator must give a reason to read its prompts, and the reason is recorded.</p>`;
}

function formatPerson({ name, email }: AccountPerson): string {
  if (name === "") return email ?? "unnamed member";
  return email === null ? name : `${name}, ${email}`;
}

function decidedPage(
  { person }: Visitor,
  isApproved: boolean,
  workspace: Visitor["workspaces"][number] | undefined,
  named: AccountPerson | undefined,
): Html {
  const whose =
    named === undefined || named.userId === person.userId
      ? "you"
      : html`<strong><bdi>${formatPerson(named)}</bdi></strong>`;
  const result = isApproved
    ? html`<p class="done" role="status">Approved. The machine connects within seconds; you can close this page.</p>
<p>Its requests and prompts belong to ${whose}.</p>`
    : html`<p class="done" role="status">Denied. The machine was not connected.</p>`;
  const body = html`<section>
<h1>Connect a machine</h1>
${result}
${workspace === undefined ? "" : html`<p><a href="/w/${workspace.workspaceId}">Go to <bdi>${workspace.name}</bdi></a></p>`}
</section>`;
  return renderLayout({ title: "Connect a machine", body, person });
}
