import type { BudgetUnit } from "../core/budgets/budget.ts";
import { formatBudgetAmount } from "../core/budgets/describe-budget.ts";
import { PICO_USD_PER_USD } from "../core/pricing/decimal.ts";
import { formatFixedUsd } from "../core/pricing/money.ts";
import { UNKNOWN } from "../core/values/text/format-count.ts";

/** Decimal places of a cost below one dollar. */
const PLACES_BELOW_ONE_USD = 4;

/** Formats a cost: two decimal places from one dollar up, four below, `<$0.0001` for anything smaller, a dash if unknown. */
export function formatShortUsd(picoUsd: bigint | null): string {
  if (picoUsd === null) return UNKNOWN;
  const isFraction = picoUsd > 0n && picoUsd < PICO_USD_PER_USD;
  return formatFixedUsd(picoUsd, isFraction ? PLACES_BELOW_ONE_USD : 2);
}

/** Formats the amount of a budget: money as on all pages, tokens and requests in full. */
export const formatShortAmount = (unit: BudgetUnit, amount: bigint): string =>
  unit === "usd" ? formatShortUsd(amount) : formatBudgetAmount(unit, amount);

/** Made once, since that takes 40 µs. */
let compact: Intl.NumberFormat | undefined;

/** Formats a count with three significant digits, `1.23M`; a dash if it is unknown. */
export function formatShortCount(count: number | bigint | null): string {
  if (count === null) return UNKNOWN;
  compact ??= new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 3 });
  return compact.format(count);
}

/** Returns words within a sentence: `Last 30 days` as `last 30 days`. */
export const toRunningText = (words: string): string => words.charAt(0).toLowerCase() + words.slice(1);

/** Formats a share, given in tenths of a percent, as a percentage. */
export const formatPermille = (permille: number): string => `${permille / 10}%`;

/** Leaves out the year of a date at the beginning of a label. */
export const shortenDate = (label: string): string => label.replace(/^\d{4}-(?=\d\d-\d\d)/, "");
