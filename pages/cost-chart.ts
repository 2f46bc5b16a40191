import { html } from "hono/html";
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
  readonly costPicoUsd: bigint;
  /** The cost as text, which also tells an unknown cost from zero. */
  readonly cost: string;
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

/**
 * Renders the cost per day as bars, with the same data as a table. Its section has a heading with the ID `chart-title`.
 * `dayHeading` is the heading of the column of dates, which can name their time zone.
 */
export function renderCostChart(days: readonly ChartDay[], dayHeading = "Day"): Html {
  const [highest = 0n] = days.map(({ costPicoUsd }) => costPicoUsd).sort((a, b) => (a < b ? 1 : -1));
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
        ${days.map((day, index) => renderBar(day, index * SLOT, ceiling))}
      </svg>
      <div class="dates" aria-hidden="true">${dates}</div>
    </div>
    <details id="chart-table">
      <summary>Cost per day as a table</summary>
      <div class="scroll" tabindex="0" role="region" aria-label="Cost per day as a table">
        <table>
          <thead><tr><th scope="col">${dayHeading}</th><th scope="col" class="number">Requests</th><th scope="col" class="number">Cost</th></tr></thead>
          <tbody>${days
            .filter(({ requests }) => requests > 0)
            .toReversed()
            .map(
              ({ date, requests, cost }) =>
                html`<tr><th scope="row">${date}</th><td class="number">${formatCount(requests)}</td><td class="number">${cost}</td></tr>`,
            )}</tbody>
        </table>
      </div>
    </details>
  </figure>`;
}

function renderBar({ date, requests, costPicoUsd, cost }: ChartDay, x: number, ceiling: bigint): Html {
  const share = Number((costPicoUsd * 10_000n) / ceiling) / 10_000;
  const height = costPicoUsd > 0n ? Math.max(share * HEIGHT, MIN_HEIGHT) : 0;
  return html`<g class="bar"><title>${date}: ${cost}, ${formatQuantity(requests, "request")}</title><rect class="slot" x="${x}" y="0" width="${SLOT}" height="${HEIGHT}" /><rect x="${x + GAP / 2}" y="${(HEIGHT - height).toFixed(2)}" width="${SLOT - GAP}" height="${height.toFixed(2)}" /></g>`;
}
