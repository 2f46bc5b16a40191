import { html } from "hono/html";
import type * as v from "valibot";
import { formatCount } from "../../core/values/text/format-count.ts";
import { coverageSchema, type MachineCoverage } from "../../core/wire/coverage.ts";
import { type Members, machinesSchema, membersSchema } from "../../core/wire/people.ts";
import { formatSpan } from "../../pages/figures.ts";
import type { Html } from "../../pages/html.ts";
import { renderName } from "../../pages/names.ts";
import { renderState } from "../../pages/states.ts";
import { renderTime } from "../../pages/times.ts";
import { renderMachineCoverage } from "../../pages/views/coverage.ts";
import { notice } from "./layout.ts";
import { type FormRoute, readRoute, sendForm } from "./page-api.ts";
import type { PageAnswer, PageCall } from "./page-call.ts";

const PATH = "/machines";

type Machine = v.InferOutput<typeof machinesSchema>["items"][number];

/** `GET /w/{ws}/machines`: the machines, who uses them and when they last reported. */
export const showMachines = (call: PageCall): Promise<PageAnswer> => renderMachines(call, null);

/** `POST /w/{ws}/machines`: names, blocks or unblocks a machine. */
export const changeMachines = (call: PageCall, form: URLSearchParams): Promise<PageAnswer> =>
  sendForm(call, PATH, routeOf(form), (message) => renderMachines(call, message));

function routeOf(form: URLSearchParams): FormRoute | null {
  const path = `/machines/${encodeURIComponent(form.get("id") ?? "")}`;
  switch (form.get("action")) {
    case "rename":
      return { method: "PATCH", path, body: { name: (form.get("name") ?? "").trim() || null } };
    case "give":
      return { method: "PATCH", path, body: { user_id: form.get("user") ?? "" } };
    case "block":
      return { method: "POST", path: `${path}/block` };
    case "unblock":
      return { method: "POST", path: `${path}/invite` };
    default:
      return null;
  }
}

async function renderMachines(call: PageCall, message: string | null): Promise<PageAnswer> {
  const machines = await readRoute(call, "/machines", machinesSchema);
  if (!machines.ok) return machines.refusal;
  const coverage = await readRoute(call, "/coverage", coverageSchema);
  if (!coverage.ok) return coverage.refusal;
  const { items } = machines.value;
  const coverageOf = new Map(coverage.value.machines.map((each) => [each.machine_id, each]));
  const isAdmin = call.workspace.role === "admin";
  const members = isAdmin ? await readRoute(call, "/members", membersSchema) : null;
  if (members !== null && !members.ok) return members.refusal;
  const people = members?.value.items ?? [];
  const list = html`<section class="panel"><div class="scroll"><table aria-label="Machines"><thead><tr><th scope="col">Machine</th><th scope="col" class="desk">Version</th><th scope="col" class="desk">Last seen</th><th scope="col" class="desk">Coverage</th><th scope="col">State</th>${isAdmin ? html`<th scope="col">Change</th>` : ""}</tr></thead>
<tbody>${items.map((machine) => renderMachine(call, machine, coverageOf.get(machine.id), people))}</tbody></table></div>
<p class="quiet">The coverage is that of the last 30 days: <a href="${call.place.base}/coverage">what was missed</a>. The time at which a machine was last seen is exact to five minutes.${isAdmin ? "" : " An administrator of the workspace names and blocks machines."}</p></section>`;
  const none = renderState(
    "No machine is connected",
    html`Run <code>meter cloud connect --base-url ${call.env.parts.config.baseUrl}</code> on a machine, and approve it on the page <a href="/connect">Connect a machine</a>.`,
  );
  return {
    heading: "Machines",
    path: PATH,
    main: html`${notice(message)}${items.length === 0 ? none : list}`,
  };
}

function renderMachine(
  call: PageCall,
  machine: Machine,
  coverage: MachineCoverage | undefined,
  people: Members["items"],
): Html {
  const { workspace, place, person } = call;
  const { id, hostname, platform, name, user, daemon_version: version, last_seen_at: seen } = machine;
  const isBlocked = machine.blocked_at !== null;
  const state = isBlocked ? "blocked" : machine.key === null ? "no key" : "connected";
  const shown = name ?? hostname;
  const form = (action: string, body: Html) =>
    html`<form method="post" class="form" action="${place.base}${PATH}"><input type="hidden" name="action" value="${action}"><input type="hidden" name="id" value="${id}">${body}</form>`;
  const change = html`<details><summary>Change<span class="hidden"> <bdi>${shown}</bdi></span></summary>
${form("rename", html`<label for="name-${id}">Name</label><input id="name-${id}" name="name" type="text" autocomplete="off" maxlength="100" value="${name ?? ""}" placeholder="${hostname}"><button class="second">Rename</button>`)}
${renderTransfer(machine, people, person.userId, form)}
${isBlocked ? form("unblock", html`<button class="second">Unblock</button>`) : form("block", html`<button class="danger">Block</button>`)}</details>`;
  const lastSeen =
    seen === null ? html`<span class="quiet">never</span>` : renderTime(Date.parse(seen), place);
  return html`<tr><th scope="row" class="name">${renderName(shown)}<span class="sub">${name === null ? "" : html`<bdi>${hostname}</bdi>, `}<bdi>${platform}</bdi>, ${renderName(user?.name)}</span><span class="sub phone">seen ${lastSeen}</span></th><td class="desk"><bdi>${version}</bdi></td><td class="desk when">${lastSeen}</td><td class="desk">${renderCoverageCell(call, coverage)}</td><td class="${isBlocked ? "bad" : ""}">${state}</td>${workspace.role === "admin" ? html`<td>${change}</td>` : ""}</tr>`;
}

/**
 * Renders what is known about a machine's coverage, how many requests waited at its last report, and the latest time in which its meter
 * was not running.
 */
function renderCoverageCell({ place }: PageCall, coverage: MachineCoverage | undefined): Html {
  if (coverage === undefined) return html`<span class="quiet">unknown</span>`;
  const { queued, gaps } = coverage;
  const gap = gaps.at(-1);
  const waiting =
    queued === null || queued === 0 ? "" : html`<span class="sub">${formatCount(queued)} waiting</span>`;
  const stopped =
    gap === undefined
      ? ""
      : html`<span class="sub">not running for ${formatSpan(Date.parse(gap.to) - Date.parse(gap.from))} until ${renderTime(Date.parse(gap.to), place)}</span>`;
  return html`${renderMachineCoverage(coverage)}${waiting}${stopped}`;
}

/**
 * Renders the form that changes who the future requests of a machine belong to. Only the visitor's own machine and that of a
 * person who left can be given to somebody else.
 */
function renderTransfer(
  { id, user }: Machine,
  people: Members["items"],
  visitorId: string,
  form: (action: string, body: Html) => Html,
): Html | "" {
  const isMembers = people.some((member) => member.user_id === user?.id);
  if (user !== null && isMembers && user.id !== visitorId) return "";
  const others = people.filter((member) => member.user_id !== user?.id);
  if (others.length === 0) return "";
  return form(
    "give",
    html`<label for="user-${id}">Future requests belong to</label><select id="user-${id}" name="user">${others.map(
      ({ user_id: userId, name, email }) =>
        html`<option value="${userId}">${name || (email ?? userId)}</option>`,
    )}</select><button class="second">Change</button>`,
  );
}
