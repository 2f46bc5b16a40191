import { html } from "hono/html";
import type { BudgetUnit } from "../../core/budgets/budget.ts";
import {
  describeLetThrough,
  describeLetThroughTotal,
  type LetThroughCounts,
} from "../../core/budgets/let-through.ts";
import { UNKNOWN } from "../../core/values/text/format-count.ts";
import { renderMeter } from "../chart/meter.ts";
import { formatSpan } from "../figures.ts";
import { formatShortAmount } from "../formats.ts";
import type { Html } from "../html.ts";
import { type PageClock, renderTime } from "../times.ts";
import { renderCommand } from "../tools.ts";

/** A budget, as `GET /v1/budgets` states it. Amounts are decimal texts in pico-USD, tokens or requests. */
export interface BudgetLine {
  readonly name: string;
  readonly budget: Readonly<Record<string, unknown>>;
  readonly unit: BudgetUnit;
  readonly status: "ok" | "warning" | "exceeded" | "paused" | "lifted" | "tripped" | "unknown" | "outdated";
  readonly limit: string;
  readonly spent: string | null;
  readonly in_flight: string;
  readonly calls_in_flight: number;
  readonly used_percent: number | null;
  readonly period_to: string | null;
  readonly gone_at: string | null;
  readonly lifted_until: string | null;
  readonly tripped_until: string | null;
  readonly session: string | null;
  readonly let_through: LetThroughCounts;
  /** Where a budget of a workspace is changed; null for a budget of this machine. */
  readonly fleet: { readonly workspace: string; readonly address: string } | null;
}

/**
 * The budgets, and how many calls were sent since the daemon started although a budget could not decide on them; `early` of these
 * before the budgets were read.
 */
export interface BudgetLines {
  readonly budgets: readonly BudgetLine[];
  readonly letThrough: number;
  readonly early: number;
}

const blocks = ({ budget }: BudgetLine): boolean => budget.at_limit === "block";
const isStopped = ({ status }: BudgetLine): boolean => status === "exceeded" || status === "tripped";

const amountOf = ({ unit }: BudgetLine, amount: string | null): string =>
  amount === null ? UNKNOWN : formatShortAmount(unit, BigInt(amount));

/** The thresholds, with a mark at those that were reached. */
function describeThresholds({ budget, used_percent }: BudgetLine): string {
  const thresholds = Array.isArray(budget.thresholds) ? (budget.thresholds as readonly unknown[]) : [];
  return thresholds
    .map((each) => (used_percent !== null && used_percent >= Number(each) ? `${each} ✓` : `${each}`))
    .join(" · ");
}

function renderStatus(line: BudgetLine, clock: PageClock): Html | string {
  const { status, gone_at, lifted_until, tripped_until } = line;
  const until = (at: string) => renderTime(Date.parse(at), clock);
  if (status === "unknown") return html`<span class="bad">its records can't be read</span>`;
  if (status === "outdated") return "the spend of other machines is not known";
  if (status === "paused") return "paused";
  if (status === "lifted" && lifted_until !== null) return html`lifted until ${until(lifted_until)}`;
  if (status === "tripped" && tripped_until !== null)
    return html`<span class="bad">${blocks(line) ? "refuses calls" : "reached"} until</span> ${until(tripped_until)}`;
  if (status === "exceeded")
    return html`<span class="bad">${blocks(line) ? "used up, refuses calls" : "used up"}</span>`;
  return gone_at === null ? status : html`used up by about ${until(gone_at)}`;
}

function renderEnd({ period_to, budget }: BudgetLine, clock: PageClock): Html | string {
  if (period_to !== null) {
    const at = Date.parse(period_to);
    return html`${renderTime(at, clock)} <span class="quiet">in ${formatSpan(at - clock.now)}</span>`;
  }
  if (budget.period === "session") return "each session";
  return budget.period === "total" ? "never" : `any ${budget.period}`;
}

function renderRow(line: BudgetLine, clock: PageClock): Html {
  const { name, status, used_percent, session, calls_in_flight } = line;
  const share = used_percent === null ? UNKNOWN : `${used_percent}%`;
  const shown = isStopped(line) ? html`<span class="bad">${share}</span>` : share;
  const level = isStopped(line) ? "exceeded" : status === "warning" ? "warning" : "ok";
  return html`<tr><th scope="row" class="name"><bdi>${name}</bdi>${session === null ? "" : html`<span class="sub">session <bdi>${session}</bdi></span>`}</th><td class="meter"><span class="sub phone">${shown}, ${amountOf(line, line.spent)} of ${amountOf(line, line.limit)}</span>${renderMeter({ percent: used_percent ?? 0, mark: inFlightMark(line), level })}</td><td class="num desk">${shown}</td><td class="num desk">${amountOf(line, line.spent)} of ${amountOf(line, line.limit)}${calls_in_flight === 0 ? "" : html`<span class="sub">up to ${amountOf(line, line.in_flight)} in flight</span>`}</td><td class="desk">${describeThresholds(line)}</td><td class="when">${renderStatus(line, clock)}</td><td class="desk when">${renderEnd(line, clock)}</td></tr>`;
}

/** Renders the reasons why a budget could not decide on calls. */
function renderLetThrough({ name, let_through }: BudgetLine): Html | string {
  const reasons = describeLetThrough(let_through);
  return reasons === "" ? "" : html` <bdi>${name}</bdi>: ${reasons}.`;
}

/** Renders how to let calls of a budget pass: the command, or the page of its workspace. */
const renderLift = ({ name, fleet }: BudgetLine): Html =>
  fleet === null
    ? html`<p>Let the calls of <bdi>${name}</bdi> pass for an hour:</p>${renderCommand(liftCommand(name))}`
    : html`<p>Administrators of <bdi>${fleet.workspace}</bdi> can change <bdi>${name}</bdi>: <a href="${fleet.address}"><bdi>${fleet.address}</bdi></a></p>`;

const liftCommand = (name: string): string =>
  `meter budget lift ${/^[\w.:/@+-]+$/.test(name) ? name : `'${name}'`} --for 1h`;

/** Renders the budgets as a panel with the commands that lift those which refuse calls. */
export function renderBudgetPanel(lines: BudgetLines, clock: PageClock): Html {
  return html`<section class="panel" aria-labelledby="budgets-title"><div class="head"><h2 id="budgets-title">Budgets</h2></div><div id="budgets" data-live>${
    lines.budgets.length === 0
      ? html`<p class="quiet">There are no budgets. Set one:</p>${renderCommand("meter budget set monthly '200 USD'")}`
      : renderBudgets(lines, clock)
  }</div></section>`;
}

/** Renders the same for the page Now, where nothing is shown without budgets. */
export const renderBudgetsNow = (lines: BudgetLines, clock: PageClock, href: string): Html =>
  html`<div id="budgets" data-live>${
    lines.budgets.length === 0
      ? ""
      : html`<section class="panel" aria-labelledby="budgets-title"><div class="head"><h2 id="budgets-title">Budgets</h2><a href="${href}">All budgets</a></div>${renderBudgets(lines, clock)}</section>`
  }</div>`;

function renderBudgets({ budgets, letThrough, early }: BudgetLines, clock: PageClock): Html {
  const refusing = budgets.filter((line) => isStopped(line) && blocks(line));
  return html`<div class="scroll"><table aria-label="Budgets">
    <thead><tr><th scope="col">Budget</th><th scope="col" class="meter">Used</th><th scope="col" class="num desk"><span class="hidden">Share</span></th><th scope="col" class="num desk">Amount</th><th scope="col" class="desk">Warns at %</th><th scope="col">Status</th><th scope="col" class="desk">Period ends</th></tr></thead>
    <tbody>${budgets.map((line) => renderRow(line, clock))}</tbody></table></div>${refusing.map(renderLift)}${letThrough === 0 ? "" : html`<p class="quiet">${describeLetThroughTotal(letThrough, early)}${budgets.map(renderLetThrough)}</p>`}`;
}

/** Returns how much would be used if each call in flight used its maximum, in percent; null if none is in flight. */
function inFlightMark({ spent, in_flight, limit, calls_in_flight }: BudgetLine): number | null {
  if (spent === null || calls_in_flight === 0 || limit === "0") return null;
  return Number(((BigInt(spent) + BigInt(in_flight)) * 100n) / BigInt(limit));
}
