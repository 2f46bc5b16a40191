import type { RateRow } from "../../core/pricing/mod.ts";
import { formatRateText } from "../../core/pricing/mod.ts";
import { type Column, renderTable, tableFits } from "./table.ts";

const columns: readonly Column[] = [
  { title: "provider" },
  { title: "model" },
  { title: "input", align: "right" },
  { title: "output", align: "right" },
  { title: "cache read", align: "right" },
  { title: "cache write", align: "right" },
  { title: "source" },
];

const usd = (rate: number | null) => (rate === null ? "–" : formatRateText(rate));

type Rates = Pick<RateRow["rates"], "input" | "output" | "cacheRead" | "cacheWrite">;

const four = ({ input, output, cacheRead, cacheWrite }: Rates) =>
  [input, output, cacheRead, cacheWrite].map(usd);

/**
 * Rates as a table; where a name would have to be cut, each model in lines of its own, since cut names can't be told
 * apart.
 */
export function renderRates(rows: readonly RateRow[], width: number): string {
  const above = (tokens: number) => `above ${tokens.toLocaleString("en")} input tokens`;
  const lines = rows.flatMap(({ provider, model, source, rates }) => [
    [provider, model, ...four(rates), source],
    ...rates.tiers.map((tier) => ["", `  ${above(tier.aboveTokens)}`, ...four(tier), ""]),
  ]);
  const unit = "USD per million tokens";
  if (tableFits(columns, lines, width))
    return [renderTable(columns, lines, width), "", `${unit}.`].join("\n");
  const inWords = (rates: Rates) => {
    const titles = ["input", "output", "cache read", "cache write"];
    return four(rates)
      .map((rate, index) => `${titles[index]} ${rate}`)
      .join(", ");
  };
  return [
    `In ${unit}:`,
    ...rows.flatMap(({ provider, model, source, rates }) => [
      `${provider}  ${model}  (${source})`,
      `  ${inWords(rates)}`,
      ...rates.tiers.map((tier) => `  ${above(tier.aboveTokens)}: ${inWords(tier)}`),
    ]),
  ].join("\n");
}
