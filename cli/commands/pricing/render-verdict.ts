import { formatRateText } from "../../../core/pricing/money.ts";
import type { RateProblem } from "../../../core/pricing/published-rates.ts";
import type { RateChange } from "../../../core/pricing/sources/rate-changes.ts";
import { formatCount, UNKNOWN } from "../../../core/values/text/format-count.ts";
import { formatQuantity } from "../../../core/values/text/format-quantity.ts";
import type { PriceListResult } from "../../../daemon/cloud/pull-price-list.ts";
import { CommandFailure } from "../../program/exit-codes.ts";
import { printable } from "../../render/printable.ts";

type Listed = Extract<PriceListResult, { kind: "listed" }>;

/** The number of held rates that a pull lists. */
const HELD_SHOWN = 10;

/** Describes what a pull stored, and what the guard held back. Throws if the whole list was rejected. */
export function renderPull(result: Listed): string {
  const { name, verdict } = result;
  if (verdict.rejected !== null)
    throw new CommandFailure(
      `The price list of ${name} was rejected: ${verdict.rejected}. No rates changed.\nSee them: meter pricing diff`,
    );
  return [
    `Pulled ${formatQuantity(verdict.rows.length, "rate")} from ${printable(name)}: ${summarise(result)}.`,
    ...renderHeld(verdict.held, HELD_SHOWN),
    "Price stored requests with them: meter recompute-costs --dry-run",
  ].join("\n");
}

/** Lists what a pull would change, at most `limit` lines of each kind. */
export function renderDiff(result: Listed, limit: number): string {
  const { added, changes, held, rejected } = result.verdict;
  return [
    `${printable(result.name)}: ${summarise(result)}. Nothing was stored.`,
    ...(rejected === null ? [] : [`A pull would be rejected: ${rejected}.`]),
    ...renderSection(
      "Changed, in USD per million",
      changes.map(({ provider, model, field, from, to }: RateChange) =>
        printable(`${provider} ${model}, ${field}: ${rateText(from)} to ${rateText(to)}`),
      ),
      limit,
    ),
    ...renderSection(
      "New, input and output",
      added.map(({ provider, model, rates }) =>
        printable(`${provider} ${model}: ${rateText(rates.input)}, ${rateText(rates.output)}`),
      ),
      limit,
    ),
    ...renderHeld(held, limit),
  ].join("\n");
}

function summarise({ verdict, unmetered }: Listed): string {
  const { added, changes, unchanged, held } = verdict;
  const changed = modelsOf(changes);
  return [
    `${formatCount(added.length)} new, ${formatCount(changed)} changed, ${formatCount(unchanged)} unchanged`,
    ...(held.length > 0 ? [`${formatCount(modelsOf(held))} held back`] : []),
    ...(unmetered > 0 ? [`${formatCount(unmetered)} left out, of providers that are not metered`] : []),
  ].join("; ");
}

function modelsOf(items: readonly { provider: string; model: string }[]): number {
  return new Set(items.map(({ provider, model }) => `${provider} ${model}`)).size;
}

function renderHeld(held: readonly RateProblem[], limit: number): string[] {
  return renderSection(
    "Held back; the known rates stay",
    held.map(({ provider, model, field, problem }) =>
      printable(`${provider} ${model}, ${field}: ${problem}`),
    ),
    limit,
  );
}

function renderSection(title: string, lines: readonly string[], limit: number): string[] {
  if (lines.length === 0) return [];
  const more = lines.length - limit;
  return [
    `${title}:`,
    ...lines.slice(0, limit).map((line) => `  ${line}`),
    ...(more > 0 ? [`  and ${formatCount(more)} more. See all: meter pricing diff --all`] : []),
  ];
}

const rateText = (rate: number | null) => (rate === null ? UNKNOWN : formatRateText(rate));
