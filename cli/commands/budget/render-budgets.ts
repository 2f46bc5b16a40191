import { type BudgetScope, SCOPE_KEYS } from "../../../core/budgets/budget.ts";
import { describeScope, formatBudgetAmount, isAtApiPrices } from "../../../core/budgets/describe-budget.ts";
import { describeLetThrough, describeLetThroughTotal } from "../../../core/budgets/let-through.ts";
import type { BudgetInput } from "../../../core/budgets/parse-budget.ts";
import { formatCount, UNKNOWN } from "../../../core/values/text/format-count.ts";
import { formatQuantity } from "../../../core/values/text/format-quantity.ts";
import { quoteOption } from "../../../core/values/text/shell-words.ts";
import type { BudgetView } from "../../../daemon/budgets/budget-views.ts";
import type { BudgetAction } from "../../../daemon/store/port/budgets.ts";
import type { ReadBudgets } from "../../daemon/request-budgets.ts";
import { formatClock, renderBar } from "../../render/limit-text.ts";
import { type Column, renderTable, tableFits } from "../../render/table.ts";

const BAR_CELLS = 10;

const NO_BUDGETS = "There are no budgets.\nSet one: meter budget set monthly '200 USD'";

const scopeOf = (input: BudgetInput): BudgetScope =>
  Object.fromEntries(SCOPE_KEYS.flatMap((key) => (input[key] === undefined ? [] : [[key, input[key]]])));

const isAtPrices = (view: BudgetView): boolean =>
  isAtApiPrices({ unit: view.unit, scope: scopeOf(view.budget) });

const amountOf = ({ unit }: BudgetView, amount: string | null): string =>
  amount === null ? UNKNOWN : formatBudgetAmount(unit, BigInt(amount));

/** Describes a period: `a month (Europe/Berlin)`, `each session`, `any 24h`. */
function describePeriod({ period, zone }: BudgetInput): string {
  if (period === "session") return "each session";
  if (period === "total") return "in total";
  return typeof zone === "string" ? `a ${period} (${zone})` : `in any ${period}`;
}

/** Describes a budget in one line. */
export function describeBudget(input: BudgetInput): string {
  const atLimit = input.at_limit === "block" ? "then refuses calls" : "warns only";
  const ends = input.on_exceed === "cut" ? " and ends those in flight" : "";
  const guards = input.at_limit === "block" ? "for" : "at most once in";
  const cool = input.cool_down === undefined ? "" : ` ${guards} ${input.cool_down}`;
  return `${input.name}: ${input.amount} ${describePeriod(input)}, ${describeScope({ scope: scopeOf(input) })}, ${atLimit}${ends}${cool}`;
}

/** The columns, and in which order they are left out if the terminal is too narrow: the highest number first. */
const COLUMNS: readonly (Column & {
  readonly leaveOut?: number;
  cell(view: BudgetView, now: number): string;
})[] = [
  { title: "budget", shrink: true, cell: ({ name }) => name },
  { title: "", leaveOut: 3, cell: ({ used_percent }) => renderBar(used_percent, BAR_CELLS) },
  {
    title: "used",
    align: "right",
    cell: ({ used_percent }) => (used_percent === null ? UNKNOWN : `${used_percent} %`),
  },
  { title: "spent", align: "right", cell: (view) => amountOf(view, view.spent) },
  { title: "in flight", align: "right", leaveOut: 2, cell: inFlightCell },
  { title: "limit", align: "right", cell: (view) => amountOf(view, view.limit) },
  { title: "period", leaveOut: 4, cell: (view) => `${view.budget.period}` },
  { title: "ends", leaveOut: 1, cell: ({ period_to }, now) => clock(period_to, now) },
  { title: "status", cell: statusCell },
];

const NARROWER = [5, 4, 3, 2, 1];

const clock = (at: string | null, now: number) => (at === null ? UNKNOWN : formatClock(Date.parse(at), now));

function inFlightCell(view: BudgetView): string {
  return view.calls_in_flight === 0 ? "" : `${amountOf(view, view.in_flight)} (${view.calls_in_flight})`;
}

function statusCell(view: BudgetView, now: number): string {
  const { status, budget, gone_at, lifted_until, tripped_until } = view;
  if (status === "lifted") return `lifted until ${clock(lifted_until, now)}`;
  if (status === "tripped") return `stopped until ${clock(tripped_until, now)}`;
  if (status === "outdated") return "cloud not reached";
  if (status === "exceeded") return budget.at_limit === "block" ? "used up, refuses calls" : "used up";
  return gone_at === null ? status : `used up by ${clock(gone_at, now)}`;
}

/** Renders the budgets as a table with notes below. */
export function renderBudgets(
  { budgets, let_through, let_through_early }: ReadBudgets,
  now: number,
  width: number,
): string {
  if (budgets.length === 0) return NO_BUDGETS;
  const tables = NARROWER.map((from) => {
    const columns = COLUMNS.filter(({ leaveOut = 0 }) => leaveOut < from);
    return { columns, rows: budgets.map((view) => columns.map(({ cell }) => cell(view, now))) };
  });
  const { columns, rows } =
    tables.find((each) => tableFits(each.columns, each.rows, width)) ?? tables.at(-1)!;
  const notes = budgets.flatMap((view) => notesOf(view).map((note) => `${view.name}: ${note}`));
  if (let_through !== null && let_through > 0)
    notes.push(describeLetThroughTotal(let_through, let_through_early ?? 0));
  return [renderTable(columns, rows, width), ...(notes.length === 0 ? [] : ["", ...notes])].join("\n");
}

/** What a budget of a workspace counts, by its subject. */
const FLEET_SCOPES: Readonly<Record<string, string>> = {
  workspace: "the calls of all its machines",
  project: "the project's calls on all its machines",
  person: "your calls on all your machines there",
  machine: "the calls of this machine",
};

function notesOf(view: BudgetView): string[] {
  const { unknown_calls: unknown, session, fleet } = view;
  const letThrough = describeLetThrough(view.let_through ?? {});
  const what = view.unit === "usd" ? "known price" : "known tokens";
  return [
    ...(unknown === null || unknown === 0
      ? []
      : [
          `${formatCount(unknown)} ${unknown === 1 ? "call" : "calls"} without a ${what} ${unknown === 1 ? "is" : "are"} not included.`,
        ]),
    ...(isAtPrices(view) ? ["counts what a plan covers at API prices; it is not spent."] : []),
    ...(fleet === null
      ? []
      : [
          `set by workspace ${fleet.workspace}; counts ${FLEET_SCOPES[fleet.subject] ?? "calls of several machines"}.`,
        ]),
    ...((view.cut_calls ?? 0) === 0
      ? []
      : [`ended ${formatQuantity(view.cut_calls, "call")} in flight since the daemon started.`]),
    ...(letThrough === "" ? [] : [`sent without a decision since the daemon started: ${letThrough}.`]),
    ...(session === null ? [] : [`shows the session of the last hour that used most, ${session}.`]),
  ];
}

/** The options of `meter report` and `meter requests` for the keys of a scope. */
const FILTERS: Readonly<Record<string, string>> = {
  project: "--project",
  model: "--model",
  provider: "--provider",
  session: "--session",
  branch: "--branch",
};

/** Returns the command that lists the records of a budget, as far as its options can say. */
function commandFor({ budget, period_from }: BudgetView): string {
  const filters = Object.entries(scopeOf(budget)).flatMap(([key, values]) => {
    const [only] = values ?? [];
    const isOne = values?.length === 1 && only !== undefined && !only.endsWith("*");
    return isOne && FILTERS[key] !== undefined ? [quoteOption(FILTERS[key], only)] : [];
  });
  const from = period_from === null ? [] : [`--from ${period_from}`];
  return ["meter report --by model", ...from, ...filters].join(" ");
}

/** Renders one budget with the explanation of its number. */
export function renderBudget(
  view: BudgetView,
  actions: readonly BudgetAction[],
  now: number,
  early: number,
): string {
  const { calls, budget } = view;
  const left = view.spent === null ? null : BigInt(view.limit) - BigInt(view.spent) - BigInt(view.in_flight);
  const here = view.fleet === null ? "" : " on this machine";
  const counted = calls === null ? UNKNOWN : `${formatCount(calls)} ${calls === 1 ? "call" : "calls"}${here}`;
  return [
    describeBudget(budget),
    "",
    `${renderBar(view.used_percent, 2 * BAR_CELLS)} ${view.used_percent ?? UNKNOWN} %, ${statusCell(view, now)}`,
    `spent      ${amountOf(view, view.spent)} (${counted})`,
    `in flight  ${amountOf(view, view.in_flight)} (${view.calls_in_flight})`,
    `left       ${left === null ? UNKNOWN : amountOf(view, `${left < 0n ? 0n : left}`)}`,
    `limit      ${amountOf(view, view.limit)}`,
    `period     ${clock(view.period_from, now)} to ${clock(view.period_to, now)}`,
    ...renderSource(view, now),
    ...notesOf(view).map((note) => `note       ${note}`),
    ...(early === 0 || budget.at_limit !== "block"
      ? []
      : [
          `note       ${formatQuantity(early, "call")} ${early === 1 ? "was" : "were"} sent before any budget was read, when the daemon started.`,
        ]),
    "",
    view.fleet === null
      ? "The sum counts the stored calls that began in the period. Show them:"
      : "The sum counts the calls of all machines in the budget. Show those of this machine:",
    `  ${commandFor(view)}`,
    ...(actions.length === 0 ? [] : ["", ...actions.map((action) => renderAction(action, now))]),
  ].join("\n");
}

/** Renders where a budget is set; for one of a workspace also what other machines spent, and who can change it. */
function renderSource(view: BudgetView, now: number): string[] {
  const { fleet, source } = view;
  if (fleet === null) return [`set in     ${source}`];
  return [
    `elsewhere  ${amountOf(view, fleet.elsewhere)}, as of ${clock(fleet.stated_at, now)}`,
    `set by     workspace ${fleet.workspace}`,
    `change at  ${fleet.address}`,
  ];
}

function renderAction({ at, action, actor, reason, until }: BudgetAction, now: number): string {
  const end = until === null ? "" : ` until ${formatClock(until, now)}`;
  return `${formatClock(at, now)}  ${action}${end} by ${actor}${reason === null ? "" : `: ${reason}`}`;
}
