import { html } from "hono/html";
import type * as v from "valibot";
import type { RunningTime } from "../../core/metering/coverage/running-times.ts";
import { retentionFloor } from "../../core/privacy/retention/windows.ts";
import { formatCount } from "../../core/values/text/format-count.ts";
import { formatQuantity } from "../../core/values/text/format-quantity.ts";
import { DAY_MS, HOUR_MS, type Millis } from "../../core/values/time.ts";
import { type Members, machinesSchema } from "../../core/wire/people.ts";
import { formatSpan } from "../../pages/figures.ts";
import { type Choice, renderMenus, renderViewNotices } from "../../pages/filters.ts";
import type { Html } from "../../pages/html.ts";
import { renderName } from "../../pages/names.ts";
import { CSV_TYPE, fileFormatOf } from "../../pages/page-file.ts";
import { renderUnreadOf } from "../../pages/page-parts.ts";
import { renderState } from "../../pages/states.ts";
import { renderTime } from "../../pages/times.ts";
import { filesOf, filterValue, readView, type View, type ViewSpec, viewHref } from "../../pages/view.ts";
import { renderMachineCoverage } from "../../pages/views/coverage.ts";
import { reachOf } from "../routes/reads/read-period.ts";
import { type MachineSums, permilleOf, readMachineSums } from "../store/reads/coverage.ts";
import { readLastStops } from "../store/reads/fleet-coverage.ts";
import { inReadScope } from "../store/reads/read-scope.ts";
import { renderRowButton } from "./action-form.ts";
import { notice } from "./layout.ts";
import { machinesCsv } from "./list-csv.ts";
import { type FormRoute, readMembersPart, readRoute, sendForm } from "./page-api.ts";
import type { PageAnswer, PageCall } from "./page-call.ts";
import { toolsOf } from "./page-tools.ts";

const PATH = "/machines";

type Machine = v.InferOutput<typeof machinesSchema>["items"][number];

/** The machines of one page. */
const PAGE_ROWS = 100;

/** How recently an online machine was seen. An idle one is seen every half hour. */
const ONLINE_MS = HOUR_MS;

const DAYS = 30;

const VIEW: ViewSpec = {
  path: PATH,
  keys: {
    state: ["", "online", "offline", "blocked", "no-key"],
    coverage: ["", "whole", "part", "unknown"],
    /** The number of the page after the first. */
    cursor: [],
  },
  filters: ["person", "version"],
};

/** `GET /w/{ws}/machines`: the machines, who uses them and when they last reported. */
export const showMachines = (call: PageCall): Promise<PageAnswer> => renderMachines(call, null);

/** `POST /w/{ws}/machines`: names, blocks or unblocks a machine. */
export const changeMachines = (call: PageCall, form: URLSearchParams): Promise<PageAnswer> =>
  sendForm(call, PATH, routeOf(form), (message) => renderMachines(call, message));

function routeOf(form: URLSearchParams): FormRoute<typeof PATH> | null {
  const path = `/machines/${encodeURIComponent(form.get("id") ?? "")}`;
  const done = form.get("action");
  switch (done) {
    case "rename":
      return { method: "PATCH", path, body: { name: (form.get("name") ?? "").trim() || null }, done };
    case "give":
      return { method: "PATCH", path, body: { user_id: form.get("user") ?? "" }, done };
    case "block":
      return { method: "POST", path: `${path}/block`, done };
    case "unblock":
      return { method: "POST", path: `${path}/invite`, done };
    default:
      return null;
  }
}

/** A machine with what is known about its coverage. */
interface Listed {
  readonly machine: Machine;
  /** Undefined: not known. Null: it could not be read. */
  readonly coverage: MachineSums | undefined | null;
}

async function renderMachines(call: PageCall, message: string | null): Promise<PageAnswer> {
  const { env, workspace, place, parameters, reader } = call;
  const { workspaceId } = workspace;
  const machines = await readRoute(call, "/machines", machinesSchema);
  if (!machines.ok) return machines.refusal;
  const view = readView(VIEW, parameters, place.base);
  const isAdmin = workspace.role === "admin";
  const members = isAdmin ? await readMembersPart(call, { items: [] }) : null;
  const { items } = machines.value;
  const floor = retentionFloor("overview", reachOf(workspace, place.now));
  const span = { from: Math.max(place.now - DAYS * DAY_MS, floor), to: place.now };
  const sums = await reader.read<readonly MachineSums[] | null>(
    "coverage",
    () => inReadScope(env.parts.db, { workspaceId }, (trx) => readMachineSums(trx, workspaceId, span)),
    null,
  );
  const coverageOf = new Map(sums?.map((each) => [each.machineId, each]));
  const all = items
    .map((machine): Listed => ({ machine, coverage: sums === null ? null : coverageOf.get(machine.id) }))
    .filter((each) => matches(each, view, place.now));
  const first =
    Math.max(0, Math.min(Number(view.values.cursor) - 1 || 0, Math.ceil(all.length / PAGE_ROWS) - 1)) *
    PAGE_ROWS;
  const shown = all.slice(first, first + PAGE_ROWS);
  const ids = shown.map(({ machine }) => machine.id);
  const stops = await reader.read<ReadonlyMap<string, RunningTime>>(
    "times without the meter",
    () => inReadScope(env.parts.db, { workspaceId }, (trx) => readLastStops(trx, workspaceId, span, ids)),
    new Map(),
  );
  const format = fileFormatOf(parameters);
  if (format !== null) return sendMachines(call, format, all);
  const people = members?.items ?? [];
  const rows = shown.map((each) => renderMachine(call, each, stops.get(each.machine.id), people));
  const list = html`<section class="panel"><div class="head"><h2>${formatQuantity(all.length, "machine")}${all.length < items.length ? ` of ${formatCount(items.length)}` : ""}</h2></div><div class="scroll"><table aria-label="Machines"><thead><tr><th scope="col">Machine</th><th scope="col" class="desk">Version</th><th scope="col" class="desk">Last seen</th><th scope="col" class="desk">Coverage</th><th scope="col">State</th>${isAdmin ? html`<th scope="col">Change</th>` : ""}</tr></thead>
<tbody>${rows}</tbody></table></div>${renderPages(view, first, all.length)}
<p class="quiet">The coverage is that of the last ${DAYS} days: <a href="${place.base}/coverage">what was missed</a>. The time at which a machine was last seen is exact to five minutes.${isAdmin ? "" : " An administrator of the workspace names and blocks machines."}</p></section>`;
  const none = renderState(
    "No machine is connected",
    html`Run <code>meter cloud connect --base-url ${env.parts.config.baseUrl}</code> on a machine, and approve it on the page <a href="/connect">Connect a machine</a>.`,
  );
  const noMatch = renderState(
    "No machine matches",
    html`<a href="${place.base}${PATH}">Show all ${formatQuantity(items.length, "machine")}</a>`,
  );
  return {
    heading: "Machines",
    path: PATH,
    tools: toolsOf(call, PATH, filesOf(view)),
    main: html`${notice(message)}${renderViewNotices(view)}${renderUnreadOf(reader.failed, "members", "times without the meter")}${items.length === 0 ? none : html`${renderFilters(view, items)}${all.length === 0 ? noMatch : list}`}`,
  };
}

/** Answers with the machines of a view as a file: as the API states them, with their coverage. */
function sendMachines({ context }: PageCall, format: "csv" | "json", all: readonly Listed[]): Response {
  const items = all.map(({ machine, coverage }) => ({
    ...machine,
    coverage:
      coverage == null || coverage.state === "unknown"
        ? null
        : { metered: coverage.metered, seen: coverage.seen, state: coverage.state, queued: coverage.queued },
  }));
  context.header("content-disposition", `attachment; filename="machines.${format}"`);
  if (format === "json") return context.json({ items });
  return context.body(machinesCsv(items), 200, { "content-type": CSV_TYPE });
}

/** Whether a machine is one of those that the view shows. */
function matches({ machine, coverage }: Listed, view: View, now: Millis): boolean {
  const { state, coverage: wanted } = view.values;
  const person = filterValue(view, "person");
  const version = filterValue(view, "version");
  return (
    (state === "" || state === stateOf(machine, now)) &&
    (wanted === "" || coverage === null || wanted === coverageKindOf(coverage)) &&
    (person === undefined || person === machine.user?.id) &&
    (version === undefined || version === machine.daemon_version)
  );
}

type MachineState = "online" | "offline" | "blocked" | "no-key";

function stateOf({ blocked_at, key, last_seen_at: seen }: Machine, now: Millis): MachineState {
  if (blocked_at !== null) return "blocked";
  if (key === null) return "no-key";
  return seen !== null && now - Date.parse(seen) <= ONLINE_MS ? "online" : "offline";
}

function coverageKindOf(coverage: MachineSums | undefined): "whole" | "part" | "unknown" {
  if (coverage === undefined || coverage.state === "unknown") return "unknown";
  return coverage.metered === coverage.seen && coverage.state === "current" ? "whole" : "part";
}

const STATE_CHOICES = [
  { value: "", name: "any" },
  { value: "online", name: "seen in the last hour" },
  { value: "offline", name: "not seen in the last hour" },
  { value: "blocked", name: "blocked" },
  { value: "no-key", name: "no key" },
];

const COVERAGE_CHOICES = [
  { value: "", name: "any" },
  { value: "whole", name: "100%" },
  { value: "part", name: "below 100%" },
  { value: "unknown", name: "unknown" },
];

function renderFilters(view: View, items: readonly Machine[]): Html {
  const people = new Map(
    items.flatMap(({ user }) => (user === null ? [] : [[user.id, user.name || user.id]])),
  );
  const versions = [...new Set(items.map((each) => each.daemon_version))].sort();
  const menu = (name: string, label: string, choices: readonly Choice[]) => ({
    ...{ name, label, choices },
    selected: view.values[name] ?? filterValue(view, name) ?? "",
  });
  const any = { value: "", name: "all" };
  return renderMenus(view, [
    menu("state", "State", STATE_CHOICES),
    menu("coverage", "Coverage", COVERAGE_CHOICES),
    menu("person", "Person", [any, ...[...people].map(([value = "", name = ""]) => ({ value, name }))]),
    menu("version", "Version", [any, ...versions.map((value) => ({ value, name: value }))]),
  ]);
}

function renderPages(view: View, first: number, count: number): Html | "" {
  if (count <= PAGE_ROWS) return "";
  const page = first / PAGE_ROWS + 1;
  const link = (to: number, text: string) =>
    html`<a href="${viewHref(view, { values: { cursor: to === 1 ? "" : `${to}` } })}">${text}</a>`;
  const last = Math.min(first + PAGE_ROWS, count);
  return html`<nav class="pages" aria-label="Pages of machines">${page > 1 ? link(page - 1, "Previous") : html`<span></span>`}<span class="quiet">${formatCount(first + 1)} to ${formatCount(last)}</span>${last < count ? link(page + 1, "Next") : html`<span></span>`}</nav>`;
}

function renderMachine(
  call: PageCall,
  { machine, coverage }: Listed,
  stop: RunningTime | undefined,
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
${form("rename", html`<label for="name-${id}">Name</label><input id="name-${id}" name="name" type="text" autocomplete="off" maxlength="100" value="${name ?? ""}" placeholder="${hostname}">${renderRowButton("Rename", shown)}`)}
${renderTransfer(machine, shown, people, person.userId, form)}
${isBlocked ? form("unblock", renderRowButton("Unblock", shown)) : html`<p class="hint">What a blocked machine sends is refused.</p>${form("block", renderRowButton("Block", shown, "danger"))}`}</details>`;
  const lastSeen =
    seen === null ? html`<span class="quiet">never</span>` : renderTime(Date.parse(seen), place);
  return html`<tr><th scope="row" class="name">${renderName(shown)}<span class="sub">${name === null ? "" : html`<bdi>${hostname}</bdi>, `}<bdi>${platform}</bdi>, ${renderName(user?.name)}</span><span class="sub phone">seen ${lastSeen}</span></th><td class="desk"><bdi>${version}</bdi></td><td class="desk when">${lastSeen}</td><td class="desk">${renderCoverageCell(call, coverage, stop)}</td><td class="${isBlocked ? "bad" : ""}">${state}</td>${workspace.role === "admin" ? html`<td>${change}</td>` : ""}</tr>`;
}

/**
 * Renders what is known about a machine's coverage, how many requests waited at its last report, and the latest time in which its meter
 * was not running.
 */
function renderCoverageCell(
  { place }: PageCall,
  coverage: Listed["coverage"],
  stop: RunningTime | undefined,
): Html {
  if (coverage === null) return html`<span class="bad">could not be read</span>`;
  if (coverage === undefined) return html`<span class="quiet">unknown</span>`;
  const { queued, state, metered, seen } = coverage;
  const waiting =
    queued === null || queued === 0 ? "" : html`<span class="sub">${formatCount(queued)} waiting</span>`;
  const stopped =
    stop === undefined
      ? ""
      : html`<span class="sub">not running for ${formatSpan(stop.to - stop.from)} until ${renderTime(stop.to, place)}</span>`;
  return html`${renderMachineCoverage({ state, permille: permilleOf(metered, seen) })}${waiting}${stopped}`;
}

/**
 * Renders the form that changes who the future requests of a machine belong to. Only the visitor's own machine and that of a
 * person who left can be given to somebody else.
 */
function renderTransfer(
  { id, user }: Machine,
  shown: string,
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
    )}</select>${renderRowButton("Change the person", shown)}`,
  );
}
