import { formatRateText } from "../../../core/pricing/money.ts";
import type { RateRow } from "../../../core/pricing/rates.ts";
import { findPriceSource } from "../../../core/pricing/sources/price-sources.ts";
import { formatCount, UNKNOWN } from "../../../core/values/text/format-count.ts";
import { type Column, renderTable, tableFits } from "../../render/table.ts";

const columns: readonly Column[] = [
  { title: "provider" },
  { title: "model" },
  { title: "input", align: "right" },
  { title: "output", align: "right" },
  { title: "cache read", align: "right" },
  { title: "cache write", align: "right" },
  { title: "source" },
];

/** Returns the name of the price list that states the rate. */
const listName = ({ source, origin }: Pick<RateRow, "source" | "origin">) =>
  origin === undefined || findPriceSource(origin.name) === null ? source : origin.name;

const usd = (rate: number | null) => (rate === null ? UNKNOWN : formatRateText(rate));

type Rates = Pick<RateRow["rates"], "input" | "output" | "cacheRead" | "cacheWrite">;

const four = ({ input, output, cacheRead, cacheWrite }: Rates) =>
  [input, output, cacheRead, cacheWrite].map(usd);

/** Renders rates as a table, or as one block per model if the table is too wide: truncated names would be ambiguous. */
export function renderRates(rows: readonly RateRow[], width: number): string {
  const above = (tokens: number) => `above ${formatCount(tokens)} input tokens`;
  const lines = rows.flatMap((row) => [
    [row.provider, row.model, ...four(row.rates), listName(row)],
    ...row.rates.tiers.map((tier) => ["", `  ${above(tier.aboveTokens)}`, ...four(tier), ""]),
  ]);
  const unit = "USD per million tokens";
  if (tableFits(columns, lines, width))
    return [renderTable(columns, lines, width), "", `${unit}.`].join("\n");
  const list = (rates: Rates) => {
    const titles = ["input", "output", "cache read", "cache write"];
    return four(rates)
      .map((rate, index) => `${titles[index]} ${rate}`)
      .join(", ");
  };
  return [
    `In ${unit}:`,
    ...rows.flatMap((row) => [
      `${row.provider}  ${row.model}  (${listName(row)})`,
      `  ${list(row.rates)}`,
      ...row.rates.tiers.map((tier) => `  ${above(tier.aboveTokens)}: ${list(tier)}`),
    ]),
  ].join("\n");
}
