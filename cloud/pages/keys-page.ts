import { html } from "hono/html";
import type * as v from "valibot";
import { parseWire } from "../../core/wire/parse.ts";
import { type Keys, keyCreatedSchema, keysSchema } from "../../core/wire/people.ts";
import type { Html } from "../../pages/html.ts";
import { renderName } from "../../pages/names.ts";
import { createPageFile, fileFormatOf, pageFiles } from "../../pages/page-file.ts";
import { renderState } from "../../pages/states.ts";
import { renderTime } from "../../pages/times.ts";
import { renderCommand } from "../../pages/tools.ts";
import { renderActionForm, renderRowButton } from "./action-form.ts";
import { notice } from "./layout.ts";
import { keysCsv } from "./list-csv.ts";
import { readMachinesPart, readRoute, sendForm } from "./page-api.ts";
import type { PageAnswer, PageCall } from "./page-call.ts";
import { readNamesPart, sendFile, toolsOf } from "./page-tools.ts";

const PATH = "/keys";

type Key = Keys["items"][number];
type NewKey = v.InferOutput<typeof keyCreatedSchema>;

/** `GET /w/{ws}/keys`: the active keys: all of them for an administrator, a member's own for a member. */
export const showKeys = (call: PageCall): Promise<PageAnswer> => renderKeys(call, null, null);

/** `POST /w/{ws}/keys`: creates an admin key or revokes a key. */
export async function changeKeys(call: PageCall, form: URLSearchParams): Promise<PageAnswer> {
  if (form.get("action") === "create") return await createKey(call);
  const path = `/keys/${encodeURIComponent(form.get("id") ?? "")}`;
  const route =
    form.get("action") === "revoke" ? ({ method: "DELETE", path, done: "revoke" } as const) : null;
  return await sendForm(call, PATH, route, (message) => renderKeys(call, message, null));
}

/** Shows the token in the answer to the form, since only its hash is stored. */
async function createKey(call: PageCall): Promise<PageAnswer> {
  const { env, context, workspace } = call;
  const answer = await env.callApi(context, "POST", `/v1/workspaces/${workspace.workspaceId}/keys`);
  if (!answer.ok) return answer;
  const created = parseWire(keyCreatedSchema, await answer.json());
  if (!created.ok) throw new TypeError("the answer to a new key does not match its schema");
  return await renderKeys(call, null, created.value);
}

async function renderKeys(
  call: PageCall,
  message: string | null,
  created: NewKey | null,
): Promise<PageAnswer> {
  const [keys, machines] = await Promise.all([
    readRoute(call, "/keys", keysSchema),
    readMachinesPart(call, null),
  ]);
  if (!keys.ok) return keys.refusal;
  const { items } = keys.value;
  const people = await readNamesPart(
    call,
    items.map((key) => key.user_id),
  );
  const hosts = new Map((machines?.items ?? []).map(({ id, name, hostname }) => [id, name ?? hostname]));
  const format = fileFormatOf(call.parameters);
  if (format !== null) {
    const named = items.map((key) => ({
      ...key,
      person: people.get(key.user_id) ?? null,
      machine: hosts.get(key.machine_id ?? "") ?? null,
    }));
    const file = { csv: () => keysCsv(named), json: () => ({ items: named }) };
    return sendFile(call, createPageFile("keys", format, file));
  }
  const isAdmin = call.workspace.role === "admin";
  const list = html`<section class="panel"><div class="scroll"><table aria-label="Keys"><thead><tr><th scope="col">Key</th><th scope="col" class="desk">Can</th><th scope="col" class="desk">Created</th><th scope="col">Last used</th><th scope="col">Change</th></tr></thead>
<tbody>${items.map((key) => renderKey(call, key, people.get(key.user_id), hosts.get(key.machine_id ?? "")))}</tbody></table></div>
<p class="quiet">The time of the last use is exact to five minutes.${isAdmin ? "" : " An administrator of the workspace sees all keys."}</p></section>`;
  const none = renderState("There are no keys", "A machine gets a key when it is connected.");
  return {
    heading: "Keys",
    path: PATH,
    main: html`${notice(message)}${created === null ? "" : renderCreated(created)}${items.length === 0 ? none : list}${isAdmin ? renderCreation(call) : ""}`,
    tools: toolsOf(call, PATH, pageFiles(call.place.base + PATH)),
  };
}

const renderCreated = ({ token }: NewKey): Html =>
  html`<section class="panel" role="status"><h2>New admin key</h2>
<p>Copy the key now. It is shown once; only its hash is stored.</p>${renderCommand(token)}</section>`;

function renderKey(call: PageCall, key: Key, person: string | undefined, machine: string | undefined): Html {
  const { id, prefix, scope, machine_id: machineId, created_at: createdAt, last_used_at: usedAt } = key;
  const owner = html`${renderName(person)}${machineId === null ? "" : html`, ${renderName(machine)}`}`;
  const consequence =
    scope === "admin"
      ? "Programs that use this key are refused at once."
      : "The machine stops sending until it is connected again.";
  const revocation = html`<details id="revoke-${id}"><summary>Revoke<span class="hidden"> <bdi>${prefix}</bdi></span></summary><p class="hint">${consequence} This can't be undone.</p>
${renderActionForm(call, PATH, { action: "revoke", id }, renderRowButton("Revoke the key", prefix, "danger"))}</details>`;
  return html`<tr><th scope="row" class="name"><code>${prefix}</code><span class="sub">${owner}</span></th><td class="desk">${scope === "admin" ? "read and administer" : "send and read its own"}</td><td class="when desk">${renderTime(Date.parse(createdAt), call.place, true)}</td><td class="when">${usedAt === null ? html`<span class="quiet">never</span>` : renderTime(Date.parse(usedAt), call.place)}</td><td>${revocation}</td></tr>`;
}

const renderCreation = (call: PageCall): Html =>
  html`<section class="panel" aria-labelledby="create-title"><h2 id="create-title">New admin key</h2>
<p>An admin key reads this workspace through the API and changes its settings, members and machines, as you can. It cannot create keys. It stops working when you leave the workspace.</p>
${renderActionForm(call, PATH, { action: "create" }, html`<div class="actions"><button>Create an admin key</button></div>`)}</section>`;
