import { formatBudgetAmount, isAtApiPrices, usedPercent } from "../../core/budgets/describe-budget.ts";
import type { LogFields } from "../../core/ports/log.ts";
import type { Millis } from "../../core/values/time.ts";
import { formatInstant } from "../../core/wire/instant.ts";
import type { BudgetNotice } from "./budget-notice.ts";

/** Returns the fields of a notice, for the log, webhooks and the stream of events. Amounts are exact decimal texts. */
export function budgetNoticeFields(notice: BudgetNotice): LogFields<"budget.warning"> {
  const { budget, key } = notice;
  const to = "bounds" in notice ? notice.bounds.to : null;
  return {
    budget: budget.name,
    unit: budget.unit,
    limit: `${budget.limit}`,
    ...("used" in notice && { used: `${notice.used}`, used_percent: usedPercent(budget.limit, notice.used) }),
    ...("threshold" in notice && { threshold: notice.threshold }),
    ...(key !== "" && { session: key }),
    ...(to !== null && { period_to: formatInstant(to) }),
    ...("goneAt" in notice && { gone_at: formatInstant(notice.goneAt) }),
    ...("until" in notice && { until: formatInstant(notice.until) }),
    at_limit: budget.atLimit,
    ...(isAtApiPrices(budget) && { at_api_prices: true }),
  };
}

/** Describes a notice in a sentence or two, with the command that shows more. `formatTime` formats a time for people. */
export function describeNotice(notice: BudgetNotice, formatTime: (at: Millis) => string): string {
  const { budget } = notice;
  const prices = isAtApiPrices(budget) ? " at API prices" : "";
  const amount = (of: bigint) => `${formatBudgetAmount(budget.unit, of)}${prices}`;
  const name = `Budget ${budget.name}${notice.key === "" ? "" : " of a session"}`;
  const show = `meter budget show ${/\s/.test(budget.name) ? `"${budget.name}"` : budget.name}`;
  switch (notice.event) {
    case "budget.warning":
    case "budget.exceeded": {
      const stops =
        notice.event === "budget.exceeded" && budget.atLimit === "block" ? " Its calls are refused." : "";
      const used = `${formatBudgetAmount(budget.unit, notice.used)} of ${amount(budget.limit)}`;
      return `${name}: ${usedPercent(budget.limit, notice.used)} % used (${used}).${stops} ${show}`;
    }
    case "budget.forecast":
      return `${name}: at this pace used up by ${formatTime(notice.goneAt)} (${formatBudgetAmount(budget.unit, notice.used)} of ${amount(budget.limit)} used). ${show}`;
    case "budget.guard_tripped": {
      const stops =
        budget.atLimit === "block" ? ` Its calls are refused until ${formatTime(notice.until)}.` : "";
      return `${name}: ${amount(budget.limit)} were used up too quickly.${stops} ${show}`;
    }
    case "budget.lifted":
      return `${name} is lifted until ${formatTime(notice.until)}. ${show}`;
    case "budget.lift_ended":
      return `${name} applies again. ${show}`;
  }
}
