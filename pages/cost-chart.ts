import { html } from "hono/html";
import { COST_PARTS, type CostPart, type CostSplit, shownParts } from "../core/pricing/cost-split.ts";
import { PICO_USD_PER_USD } from "../core/pricing/decimal.ts";
import { formatUsd } from "../core/pricing/money.ts";
import { formatCount } from "../core/values/text/format-count.ts";
import { formatQuantity } from "../core/values/text/format-quantity.ts";
import type { CalendarDate } from "../core/values/time.ts";
import { formatShortUsd } from "./formats.ts";
import type { Html } from "./html.ts";

/** One bar of the chart. */
export interface ChartDay {
  readonly date: CalendarDate;
  readonly requests: number;
  readonly split: CostSplit;
  /** The costs as texts, which also tell an unknown cost from zero. */
  readonly texts: Readonly<Record<keyof CostSplit, string>>;
}

/** Size of the SVG view box. The drawing is stretched to its container, so it contains no circles and no text. */
const [HEIGHT, SLOT, GAP] = [100, 10, 3];

/** The lowest bar of a day with a cost above zero, so that it stays visible. */
const MIN_HEIGHT = 0.8;

/** Returns the smallest of 1, 2, 5, 10, 20 … that is not below the value, or one dollar for zero. */
export function niceCeiling(value: bigint): bigint {
  if (value <= 0n) return PICO_USD_PER_USD;
  const unit = 10n ** BigInt(value.toString().length - 1);
  return [1n, 2n, 5n].map((step) => step * unit).find((each) => each >= value) ?? 10n * unit;
}

/** The class of a part's bars and of its mark in the legend. */
const CLASSES: Readonly<Record<keyof CostSplit, string>> = {
  spentPicoUsd: "spent",
  planUsagePicoUsd: "plan",
  unknownBillingPicoUsd: "unknown",
};

const sumOf = ({ split }: ChartDay): bigint => COST_PARTS.reduce((sum, { part }) => sum + split[part], 0n);

/**
 * Renders the cost per day as bars, with the same data as a table. What was spent, plan usage and unknown billing are stacked,
 * with a legend if there is more than the first. Its section has a heading with the ID `chart-title`.
 * `dayHeading` is the heading of the column of dates, which can name their time zone.
 */
export function renderCostChart(days: readonly ChartDay[], dayHeading = "Day"): Html {
  const [highest = 0n] = days.map(sumOf).sort((a, b) => (a < b ? 1 : -1));
  const parts = shownParts((part) => days.some(({ split }) => split[part] > 0n));
  const ceiling = niceCeiling(highest);
  const width = days.length * SLOT;
  const dates = [0, Math.floor((days.length - 1) / 2), days.length - 1]
    .filter((at, index, all) => at >= 0 && all.indexOf(at) === index)
    .map((at) => html`<span>${days[at]?.date ?? ""}</span>`);
  return html`<figure class="chart" aria-labelledby="chart-title">
    <div class="plot">
      <div class="scale" aria-hidden="true"><span>${formatUsd(ceiling)}</span><span>${formatUsd(ceiling / 2n)}</span><span>$0</span></div>
      <svg viewBox="0 0 ${width} ${HEIGHT}" preserveAspectRatio="none" role="img" aria-label="Cost per day; the highest day is ${formatShortUsd(highest)}" focusable="false">
        <path class="grid" d="M0 0H${width}M0 ${HEIGHT / 2}H${width}M0 ${HEIGHT}H${width}" vector-effect="non-scaling-stroke" />
        ${days.map((day, index) => renderBar(day, parts, index * SLOT, ceiling))}
      </svg>
      <div class="dates" aria-hidden="true">${dates}</div>
    </div>
    ${parts.length === 1 ? "" : renderLegend(parts)}
    <details id="chart-table">
      <summary>Cost per day as a table</summary>
      <div class="scroll" tabindex="0" role="region" aria-label="Cost per day as a table">
        <table>
          <thead><tr><th scope="col">${dayHeading}</th><th scope="col" class="number">Requests</th>${parts.map(({ label }) => html`<th scope="col" class="number">${label}</th>`)}</tr></thead>
          <tbody>${days
            .filter(({ requests }) => requests > 0)
            .toReversed()
            .map(
              ({ date, requests, texts }) =>
                html`<tr><th scope="row">${date}</th><td class="number">${formatCount(requests)}</td>${parts.map(({ part }) => html`<td class="number">${texts[part]}</td>`)}</tr>`,
            )}</tbody>
        </table>
      </div>
    </details>
  </figure>`;
}

function renderLegend(parts: readonly CostPart[]): Html {
  return html`<ul class="legend">${parts.map(({ part, label }) => html`<li class="${CLASSES[part]}">${label}${part === "planUsagePicoUsd" ? ", at API prices" : ""}</li>`)}</ul>`;
}

function renderBar(day: ChartDay, parts: readonly CostPart[], x: number, ceiling: bigint): Html {
  const { date, requests, split, texts } = day;
  const costs = parts.map(({ part, label }) =>
    parts.length === 1 ? texts[part] : `${label} ${texts[part]}`,
  );
  let top = HEIGHT;
  const rects = parts.map(({ part }) => {
    const share = Number((split[part] * 10_000n) / ceiling) / 10_000;
    const height = split[part] > 0n ? Math.max(share * HEIGHT, MIN_HEIGHT) : 0;
    top -= height;
    return html`<rect class="${CLASSES[part]}" x="${x + GAP / 2}" y="${top.toFixed(2)}" width="${SLOT - GAP}" height="${height.toFixed(2)}" />`;
  });
  return html`<g class="bar"><title>${date}: ${costs.join(", ")}, ${formatQuantity(requests, "request")}</title><rect class="slot" x="${x}" y="0" width="${SLOT}" height="${HEIGHT}" />${rects}</g>`;
}
