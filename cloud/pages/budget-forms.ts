import { html } from "hono/html";
import { MAX_FLEET_NAME } from "../../core/budgets/parse-fleet-budget.ts";
import type { FleetBudget } from "../../core/wire/fleet-budgets.ts";
import type { Html } from "../../pages/html.ts";
import { renderActionForm } from "./action-form.ts";
import { readMachinesPart, readMembersPart } from "./page-api.ts";
import type { PageCall } from "./page-call.ts";

/** The labels of the API's fields in the forms. */
export const BUDGET_FIELDS: Readonly<Record<string, string>> = {
  name: "The name",
  amount: "The amount",
  period: "The period",
  zone: "The time zone",
  thresholds: "“Warn at”",
  target: "The choice under “For”",
  at_limit: "“At 100%”",
  minutes: "The time of the lift",
  reason: "The reason",
};

const PERIODS = ["hour", "day", "week", "month", "total"] as const;

/** Returns the body of the API's request for a form. A new budget also has a name and what it is for. */
export function budgetBody(form: URLSearchParams, isNew: boolean): Record<string, unknown> {
  const period = form.get("period") ?? "month";
  const zone = form.get("zone")?.trim() || null;
  const terms = {
    amount: (form.get("amount") ?? "").trim(),
    period,
    ...(zone !== null && period !== "total" && { zone }),
    thresholds: (form.get("thresholds") ?? "")
      .split(/[\s,;%]+/)
      .filter((each) => each !== "")
      .map((each) => Number(each) || 0),
    at_limit: form.get("at_limit"),
    reserve: form.get("reserve") === "yes",
    fail: form.get("fail"),
  };
  if (!isNew) return terms;
  const [subject, target] = splitFor(form);
  return { name: (form.get("name") ?? "").trim(), subject, target, ...terms };
}

/** Splits the choice under “For”: `machine:<id>`, or a project with its name in a field of its own. */
function splitFor(form: URLSearchParams): [subject: string, target: string | null] {
  const choice = form.get("for") ?? "workspace";
  if (choice === "project") return ["project", form.get("project")?.trim() || null];
  const at = choice.indexOf(":");
  return at < 0 ? [choice, null] : [choice.slice(0, at), choice.slice(at + 1)];
}

/** What the fields of the terms show. */
type ShownTerms = Pick<
  FleetBudget,
  "amount" | "period" | "zone" | "thresholds" | "at_limit" | "reserve" | "fail"
>;

/** Renders the form that changes the terms of a budget. */
export const renderTerms = (id: string, budget: ShownTerms): Html =>
  html`${renderFields(budget, `-${id}`)}<div class="actions"><button class="second">Save</button></div>`;

const option = (value: string, text: string, selected: string): Html =>
  html`<option value="${value}"${value === selected ? html` selected` : ""}>${text}</option>`;

function renderFields(terms: ShownTerms, suffix: string): Html {
  const { amount, period, zone, thresholds, at_limit: atLimit, reserve, fail } = terms;
  return html`<label for="amount${suffix}">Amount</label><input id="amount${suffix}" name="amount" type="text" autocomplete="off" maxlength="64" value="${amount}" placeholder="200 USD" required aria-describedby="amount-help">${suffix === "" ? html`<p class="quiet" id="amount-help">With its unit: 200 USD, 5M tokens or 1000 requests.</p>` : ""}
<label for="period${suffix}">Period</label><select id="period${suffix}" name="period">${PERIODS.map((each) => option(each, each === "total" ? "in total" : each, period))}</select>
<label for="zone${suffix}">Time zone</label><input id="zone${suffix}" name="zone" type="text" autocomplete="off" maxlength="64" value="${zone ?? ""}">
<label for="thresholds${suffix}">Warn at, in percent</label><input id="thresholds${suffix}" name="thresholds" type="text" autocomplete="off" maxlength="64" value="${thresholds.join(", ")}">
<label for="at_limit${suffix}">At 100%</label><select id="at_limit${suffix}" name="at_limit">${option("warn", "warn only", atLimit)}${option("block", "refuse calls", atLimit)}</select>
<label for="reserve${suffix}">A call is refused</label><select id="reserve${suffix}" name="reserve">${option("no", "once the amount is used up", reserve ? "yes" : "no")}${option("yes", "also if it may exceed the amount", reserve ? "yes" : "no")}</select>
<label for="fail${suffix}">Calls that can't be decided</label><select id="fail${suffix}" name="fail">${option("open", "are sent", fail)}${option("closed", "are refused", fail)}</select>`;
}

/** Renders the form for a new budget. `sent` is what was refused, which the visitor can correct. */
export async function renderNewBudget(
  call: PageCall,
  path: string,
  sent: URLSearchParams | null,
): Promise<Html> {
  const field = (name: string, otherwise: string) => sent?.get(name) ?? otherwise;
  const thresholds = field("thresholds", "50, 80, 100").split(/[\s,;%]+/);
  const terms = {
    amount: field("amount", ""),
    period: field("period", "month"),
    zone: field("zone", call.workspace.reportingZone),
    thresholds: thresholds.map(Number).filter((each) => !Number.isNaN(each)),
    at_limit: field("at_limit", "warn"),
    reserve: field("reserve", "no") === "yes",
    fail: field("fail", "open"),
  };
  const body = html`<label for="name">Name</label><input id="name" name="name" type="text" autocomplete="off" maxlength="${MAX_FLEET_NAME}" value="${field("name", "")}" required>
<label for="for">For</label><select id="for" name="for">${await renderSubjects(call, field("for", "workspace"))}</select>
<label for="project">Project, if the budget is for one</label><input id="project" name="project" type="text" autocomplete="off" maxlength="256" value="${field("project", "")}">
${renderFields(terms, "")}
<div class="actions"><button>Set the budget</button></div>`;
  return html`<section class="panel" aria-labelledby="new-title"><h2 id="new-title">New budget</h2>
${renderActionForm(call, path, { action: "create" }, body)}</section>`;
}

/** Renders what a budget can be for: the workspace, a project, each member and each machine. */
async function renderSubjects(call: PageCall, selected: string): Promise<Html> {
  const [members, machines] = await Promise.all([
    readMembersPart(call, { items: [] }),
    readMachinesPart(call, { items: [] }),
  ]);
  const group = (label: string, options: readonly Html[]) =>
    options.length === 0 ? "" : html`<optgroup label="${label}">${options}</optgroup>`;
  return html`${option("workspace", "the whole workspace", selected)}${option("project", "one project", selected)}
${group(
  "Person",
  members.items.map(({ user_id: id, name, email }) =>
    option(`person:${id}`, name === "" ? (email ?? "unnamed member") : name, selected),
  ),
)}
${group(
  "Machine",
  machines.items.map(({ id, name, hostname }) => option(`machine:${id}`, name ?? hostname, selected)),
)}`;
}
