import { BUDGET_UNITS, type BudgetUnit } from "../../core/budgets/budget.ts";
import { formatPicoUsd } from "../../core/pricing/money.ts";
import { formatMetric, type MetricSample } from "../../core/values/text/format-metric.ts";
import type { LetThroughTotals } from "../budgets/budget-tracker.ts";
import { BUDGET_STATUSES, type BudgetView } from "../budgets/budget-views.ts";

/** What the metrics of budgets are made of. */
export interface BudgetFigures {
  readonly views: readonly BudgetView[];
  readonly letThrough: LetThroughTotals;
  /** The calls that each budget has refused since the start. */
  readonly refused: ReadonlyMap<string, number>;
}

const UNIT_TEXTS: Readonly<Record<BudgetUnit, string>> = {
  usd: "in USD",
  tokens: "in tokens",
  requests: "in requests",
};

/** The amounts of a budget. Each unit has a metric of its own, because amounts of different units can't be added. */
const AMOUNTS = [
  ["limit", "The amount of a budget", ".", (view: BudgetView) => view.limit],
  [
    "used",
    "What a budget has used in its period",
    "; of a budget per session, by the session that used most. Absent while its records can't be read.",
    (view: BudgetView) => view.spent,
  ],
  ["in_flight", "What calls in flight may use at most", ".", (view: BudgetView) => view.in_flight],
] as const;

/** Formats the budgets. The labels are names of budgets and fixed words, so the series are at most those of 150 budgets. */
export function formatBudgets({ views, letThrough, refused }: BudgetFigures): string[] {
  const perBudget = (samplesOf: (view: BudgetView) => readonly MetricSample[]) =>
    views.flatMap((view) =>
      samplesOf(view).map(([labels, value]): MetricSample => [{ budget: view.name, ...labels }, value]),
    );
  return [
    formatMetric(
      "meter_budget_info",
      "gauge",
      "How a budget is set: where, its period, and whether it blocks or warns at its limit.",
      perBudget(({ source, budget }) => [
        [{ source, period: `${budget.period}`, at_limit: `${budget.at_limit}` }, 1],
      ]),
    ),
    ...BUDGET_UNITS.flatMap((unit) => formatAmounts(views, unit)),
    formatMetric(
      "meter_budget_used_ratio",
      "gauge",
      "The used part of a budget: 1 is its limit. Absent while its records can't be read.",
      perBudget((view) => ratioOf(view)),
    ),
    formatMetric(
      "meter_budget_state",
      "gauge",
      "1 for the state of a budget, 0 for all others.",
      perBudget(({ status }) =>
        BUDGET_STATUSES.map((state): MetricSample => [{ state }, state === status ? 1 : 0]),
      ),
    ),
    formatMetric(
      "meter_budget_refused_total",
      "counter",
      "Calls that a budget refused since the start.",
      [...refused].map(([budget, count]): MetricSample => [{ budget }, count]),
    ),
    formatMetric(
      "meter_budget_cut_total",
      "counter",
      "Calls in flight that a budget ended since the start.",
      perBudget(({ cut_calls }) => [[{}, cut_calls]]),
    ),
    formatMetric(
      "meter_budget_let_through_total",
      "counter",
      "Calls that were sent although a budget could not decide on them, by reason. A call counts for each of its budgets.",
      perBudget(({ let_through }) =>
        Object.entries(let_through).map(([reason, count]): MetricSample => [{ reason }, count]),
      ),
    ),
    formatMetric(
      "meter_budget_undecided_calls_total",
      "counter",
      "Calls that were sent although any budget could not decide on them, each counted once.",
      [[{}, letThrough.calls]],
    ),
  ];
}

function formatAmounts(views: readonly BudgetView[], unit: BudgetUnit): string[] {
  const ofUnit = views.filter((view) => view.unit === unit);
  return AMOUNTS.map(([name, help, more, amountOf]) =>
    formatMetric(
      `meter_budget_${name}_${unit}`,
      "gauge",
      `${help}, ${UNIT_TEXTS[unit]}${more}`,
      ofUnit.flatMap((view): MetricSample[] => {
        const amount = amountOf(view);
        if (amount === null) return [];
        return [[{ budget: view.name }, unit === "usd" ? formatPicoUsd(BigInt(amount)) : amount]];
      }),
    ),
  );
}

const MILLION = 1_000_000n;

/** The ratio to six decimals, rounded down. A limit of 0 is used up. */
function ratioOf({ limit, spent }: BudgetView): MetricSample[] {
  if (spent === null) return [];
  const whole = BigInt(limit);
  return [[{}, whole === 0n ? 1 : Number((BigInt(spent) * MILLION) / whole) / Number(MILLION)]];
}
