import type { Context } from "hono";
import { html } from "hono/html";
import { type PairingShown, pairingShownSchema, parseWire } from "../../core/wire/mod.ts";
import type { CloudEnv } from "../ports.ts";
import { layout, type Markup, notice } from "./layout.ts";
import { type PageEnv, readForm, refuseForm } from "./page-parts.ts";
import { wordsOf } from "./refusal-words.ts";
import { hereOf, type Visitor, visitorOf } from "./workspace-page.ts";

const UNKNOWN =
  "This code is unknown, used or expired. Codes are good for ten minutes; the machine can ask for another.";

/**
 * `GET /connect?code=XXXX-XXXX`: the machine that asks, from the API, which counts wrong codes; without a code,
 * a field for it.
 */
export async function getConnect(env: PageEnv, context: Context<CloudEnv>): Promise<Response> {
  const visitor = await visitorOf(env, context, hereOf(context));
  if (!visitor.ok) return visitor.refusal;
  const typed = context.req.query("code") ?? "";
  if (typed === "") return context.html(codePage(env, visitor.value, "", null));
  const answer = await env.askApi(context, "GET", `/v1/pairing/codes/${encodeURIComponent(typed)}`);
  if (!answer.ok) return await refuse(env, visitor.value, typed, answer, context);
  const machine = parseWire(pairingShownSchema, await answer.json());
  if (!machine.ok) throw new TypeError("the machine of the code is not what its schema says");
  return context.html(decisionPage(visitor.value, machine.value));
}

/** `POST /connect`: approves or denies through the API. */
export async function postConnect(env: PageEnv, context: Context<CloudEnv>): Promise<Response> {
  const visitor = await visitorOf(env, context, "/connect");
  if (!visitor.ok) return visitor.refusal;
  const form = await readForm(context);
  if (!form.ok) return form.refusal;
  const typed = form.value.get("code") ?? "";
  const isApproved = form.value.get("decision") === "approve";
  const workspaceId = form.value.get("workspace_id") ?? "";
  const answer = await env.askApi(context, "POST", `/v1/pairing/${isApproved ? "approve" : "deny"}`, {
    code: typed,
    workspace_id: workspaceId,
  });
  if (!answer.ok) return await refuse(env, visitor.value, typed, answer, context);
  const workspace = visitor.value.workspaces.find((each) => each.workspaceId === workspaceId);
  return context.html(decidedPage(visitor.value, isApproved, workspace));
}

async function refuse(
  env: PageEnv,
  visitor: Visitor,
  typed: string,
  answer: Response,
  context: Context<CloudEnv>,
): Promise<Response> {
  const message = answer.status === 404 || answer.status === 422 ? UNKNOWN : await wordsOf(answer);
  return refuseForm(context, answer, codePage(env, visitor, typed, message));
}

function codePage(
  env: PageEnv,
  { person, workspaces }: Visitor,
  typed: string,
  message: string | null,
): Markup {
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
  return layout({ title: "Connect a machine", body, person, workspaces, shape: "card" });
}

function decisionPage({ person, workspaces }: Visitor, machine: PairingShown): Markup {
  const none = html`<p class="notice" role="alert">You are in no workspace that it could be connected to.</p>`;
  const choice = html`<label for="workspace_id">Workspace</label>
<select id="workspace_id" name="workspace_id" required>${workspaces.map(
    ({ workspaceId, name }) => html`<option value="${workspaceId}">${name}</option>`,
  )}</select>
<p class="hint">Its members will see this machine’s requests: models, tokens and cost.</p>
<div class="actions">
<button name="decision" value="approve">Approve</button>
<button class="second" name="decision" value="deny">Deny</button>
</div>`;
  const body = html`<section>
<h1>Connect this machine?</h1>
<p>Approve only if you started this yourself and the machine shows the same code.</p>
<dl>
<dt>Code</dt><dd><strong>${machine.code}</strong></dd>
<dt>Machine</dt><dd>${machine.hostname}</dd>
<dt>Platform</dt><dd>${machine.platform}</dd>
<dt>Address</dt><dd>${machine.address ?? "unknown"}</dd>
</dl>
<form method="post" action="/connect">
<input type="hidden" name="code" value="${machine.code}">
${workspaces.length === 0 ? none : choice}
</form>
</section>`;
  return layout({ title: "Connect a machine", body, person, workspaces, shape: "card" });
}

function decidedPage(
  { person, workspaces }: Visitor,
  isApproved: boolean,
  workspace: Visitor["workspaces"][number] | undefined,
): Markup {
  const said = isApproved
    ? html`<p class="done" role="status">Approved. The machine connects within seconds; you can close this page.</p>`
    : html`<p class="done" role="status">Denied. The machine was not connected.</p>`;
  const body = html`<section>
<h1>Connect a machine</h1>
${said}
${workspace === undefined ? "" : html`<p><a href="/w/${workspace.workspaceId}">Go to ${workspace.name}</a></p>`}
</section>`;
  return layout({ title: "Connect a machine", body, person, workspaces, shape: "card" });
}
