import { html } from "hono/html";
import { checkPlan } from "../../core/privacy/plans/plan-table.ts";
import { formatQuantity } from "../../core/values/text/format-quantity.ts";
import { type FleetBudget, fleetBudgetsSchema } from "../../core/wire/fleet-budgets.ts";
import { parseWire } from "../../core/wire/parse.ts";
import { problemSchema } from "../../core/wire/problem-details.ts";
import { renderMeter } from "../../pages/chart/meter.ts";
import { formatShortAmount } from "../../pages/formats.ts";
import type { Html } from "../../pages/html.ts";
import { renderName } from "../../pages/names.ts";
import { createPageFile, fileFormatOf, pageFiles } from "../../pages/page-file.ts";
import { renderState } from "../../pages/states.ts";
import { renderTime } from "../../pages/times.ts";
import { renderActionForm, renderRowButton } from "./action-form.ts";
import { BUDGET_FIELDS, budgetBody, renderNewBudget, renderTerms } from "./budget-forms.ts";
import { notice } from "./layout.ts";
import { budgetsCsv } from "./list-csv.ts";
import { type FormRoute, readRoute, readRoutePart, sendForm } from "./page-api.ts";
import type { PageAnswer, PageCall } from "./page-call.ts";
import { sendFile, toolsOf } from "./page-tools.ts";
import { PLAN_NAMES } from "./plan-names.ts";

const PATH = "/budgets";

/** `GET /w/{ws}/budgets`: the budgets that bind the visitor, with what is used; all of them for an administrator. */
export const showBudgets = (call: PageCall): Promise<PageAnswer> => renderBudgets(call, null, null);

/** `POST /w/{ws}/budgets`: sets, changes, pauses, resumes, lifts or removes a budget. */
export async function changeBudgets(call: PageCall, form: URLSearchParams): Promise<PageAnswer> {
  const sent = form.get("action") === "create" ? form : null;
  return await sendForm(
    call,
    PATH,
    routeOf(form),
    (message) => renderBudgets(call, message, sent),
    describeInvalid,
  );
}

function routeOf(form: URLSearchParams): FormRoute<typeof PATH> | null {
  const path = `${PATH}/${encodeURIComponent(form.get("id") ?? "")}`;
  const action = form.get("action");
  switch (action) {
    case "create":
      return { method: "POST", path: PATH, body: budgetBody(form, true), done: action };
    case "change":
      return { method: "PATCH", path, body: budgetBody(form, false), done: action };
    case "pause":
    case "resume":
      return { method: "POST", path: `${path}/${action}`, done: action };
    case "lift": {
      const reason = form.get("reason")?.trim() || null;
      const body = { minutes: Number(form.get("minutes")), reason };
      return { method: "POST", path: `${path}/lift`, body, done: action };
    }
    case "remove":
      return { method: "DELETE", path, done: action };
    default:
      return null;
  }
}

/** Describes the first field that is wrong, by its label in the form; null if the refusal names none. */
async function describeInvalid(refusal: Response): Promise<string | null> {
  if (refusal.status !== 422) return null;
  const problem = parseWire(problemSchema, await refusal.clone().json());
  const [first] = (problem.ok && problem.value.errors) || [];
  return first === undefined
    ? null
    : `${BUDGET_FIELDS[first.field.split(".")[0] ?? ""] ?? first.field} ${first.problem}.`;
}

async function renderBudgets(
  call: PageCall,
  message: string | null,
  sent: URLSearchParams | null,
): Promise<PageAnswer> {
  const budgets = await readRoute(call, PATH, fleetBudgetsSchema);
  if (!budgets.ok) return budgets.refusal;
  const { items } = budgets.value;
  const format = fileFormatOf(call.parameters);
  if (format !== null) {
    const file = { csv: () => budgetsCsv(items), json: () => ({ items }) };
    return sendFile(call, createPageFile("budgets", format, file));
  }
  const { role, plan } = call.workspace;
  const isAdmin = role === "admin";
  const verdict = checkPlan(plan, "fleetBudgets");
  const list = html`<section class="panel"><div class="scroll"><table aria-label="Budgets"><thead><tr><th scope="col">Budget</th><th scope="col">Used</th><th scope="col" class="desk">Period</th><th scope="col">State</th>${isAdmin ? html`<th scope="col">Change</th>` : ""}</tr></thead>
<tbody>${items.map((budget) => renderBudget(call, budget, verdict.ok))}</tbody></table></div>
<p class="quiet">Budgets in USD count what was spent, without plan usage. Machines send their calls and get these sums within about a minute.${isAdmin ? "" : " An administrator of the workspace changes budgets."}</p></section>`;
  const none = renderState(
    isAdmin ? "The workspace has no budgets" : "No budget of the workspace binds you",
    "A budget warns by email and, if it blocks, refuses calls on the machines of the workspace.",
  );
  const creation = !isAdmin
    ? ""
    : verdict.ok
      ? await renderNewBudget(call, PATH, sent)
      : html`<section class="panel"><p class="quiet">${PLAN_NAMES[verdict.requiredPlan]} and higher plans can set budgets.</p></section>`;
  return {
    heading: "Budgets",
    path: PATH,
    main: html`${notice(message)}${items.length === 0 ? none : list}${creation}`,
    tools: toolsOf(call, PATH, pageFiles(call.place.base + PATH)),
  };
}

/** The most budgets on the page Now. */
const MAX_NOW = 8;

/** Renders the budgets that bind the visitor for the page Now, those nearest to their end first. Empty without any. */
export async function renderBudgetsNow(call: PageCall): Promise<Html | ""> {
  const { items } = await readRoutePart(call, PATH, fleetBudgetsSchema);
  const shown = items.toSorted((one, other) => other.used_percent - one.used_percent).slice(0, MAX_NOW);
  return html`<div id="budgets" data-live>${
    shown.length === 0
      ? ""
      : html`<section class="panel" aria-labelledby="budgets-title"><div class="head"><h2 id="budgets-title">Budgets</h2><a href="${call.place.base}${PATH}">All budgets</a></div>
<div class="scroll"><table aria-label="Budgets"><thead><tr><th scope="col">Budget</th><th scope="col">Used</th><th scope="col" class="desk">Period</th><th scope="col">State</th></tr></thead>
<tbody>${shown.map((budget) => renderBudget(call, budget, null))}</tbody></table></div></section>`
  }</div>`;
}

/** Renders a budget as a row. `canChange` is null where none is changed. */
function renderBudget(call: PageCall, budget: FleetBudget, canChange: boolean | null): Html {
  const {
    name,
    used_percent: percent,
    unit,
    spent,
    limit,
    at_limit: atLimit,
    unpriced_calls: unpriced,
  } = budget;
  const amount = (text: string) => formatShortAmount(unit as "usd", BigInt(text));
  const [state, tone] = stateOf(budget, call);
  const level = percent >= 100 ? "exceeded" : percent >= (budget.thresholds[0] ?? 100) ? "warning" : "ok";
  const missing =
    unpriced === 0
      ? ""
      : html`<span class="sub warn">without ${formatQuantity(unpriced, "call", "calls")} that ${unpriced === 1 ? "has" : "have"} no known price</span>`;
  return html`<tr><th scope="row" class="name"><bdi>${name}</bdi><span class="sub">${subjectOf(budget)}, ${atLimit === "block" ? "refuses calls at 100%" : "warns only"}</span></th><td class="meter">${amount(spent)} of ${amount(limit)}, ${percent}%${renderMeter({ percent, level })}${missing}</td><td class="desk">${periodOf(call, budget)}</td><td class="${tone}">${state}</td>${call.workspace.role === "admin" && canChange !== null ? html`<td>${renderChanges(call, budget, canChange)}</td>` : ""}</tr>`;
}

function subjectOf({ subject, target, target_name: targetName }: FleetBudget): Html {
  if (subject === "workspace") return html`the workspace`;
  if (subject === "project") return html`project <bdi>${target}</bdi>`;
  return html`${subject} ${renderName(targetName)}`;
}

function periodOf({ place }: PageCall, { period, zone, period_to: to }: FleetBudget): Html {
  if (to === null) return html`in total`;
  const elsewhere = zone === null || zone === place.zone ? "" : html` (${zone})`;
  return html`${period}${elsewhere}<span class="sub">ends ${renderTime(Date.parse(to), place)}</span>`;
}

/** The state with the class of its colour. */
function stateOf(
  { paused, lifted_until: liftedUntil, used_percent: percent, at_limit: atLimit }: FleetBudget,
  { place }: PageCall,
): [Html | string, string] {
  if (paused) return ["paused", "quiet"];
  if (liftedUntil !== null && Date.parse(liftedUntil) > place.now)
    return [html`lifted until ${renderTime(Date.parse(liftedUntil), place)}`, "warn"];
  if (percent >= 100) return [atLimit === "block" ? "used up, refuses calls" : "used up", "bad"];
  return ["applies", ""];
}

function renderChanges(call: PageCall, budget: FleetBudget, canChange: boolean): Html {
  const { id, name, paused, lifted_until: liftedUntil } = budget;
  const isHeld = paused || (liftedUntil !== null && Date.parse(liftedUntil) > call.place.now);
  const form = (action: string, body: Html) => renderActionForm(call, PATH, { action, id }, body);
  return html`<details><summary>Change<span class="hidden"> <bdi>${name}</bdi></span></summary>
${canChange ? form("change", renderTerms(id, budget)) : ""}
${isHeld ? form("resume", renderRowButton("Resume", name)) : form("pause", renderRowButton("Pause", name))}
${form("lift", html`<label for="minutes-${id}">Lift for</label><select id="minutes-${id}" name="minutes"><option value="60">1 hour</option><option value="240">4 hours</option><option value="1440">1 day</option><option value="10080">7 days</option></select><label for="reason-${id}">Reason</label><input id="reason-${id}" name="reason" type="text" autocomplete="off" maxlength="500">${renderRowButton("Lift", name)}`)}
${form("remove", renderRowButton("Remove", name, "danger"))}</details>`;
}
