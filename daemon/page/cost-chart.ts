import { html } from "hono/html";
import type { HtmlEscapedString } from "hono/utils/html";
import { formatUsd } from "../../core/pricing/mod.ts";
import type { CalendarDate } from "../../core/time.ts";
import { fullCount, shortUsd } from "./formats.ts";

const PICO_USD_PER_USD = 1_000_000_000_000n;

/** From so many days on, a date needs its year. */
const DAYS_WITH_YEAR = 180;

/** One bar. */
export interface ChartDay {
  date: CalendarDate;
  requests: number;
  costPicoUsd: bigint;
}

/** Units of the drawing; it is stretched to whatever room there is, so nothing in it is round and no text is part of it. */
const HEIGHT = 100;
const SLOT = 10;

/** The smallest of 1, 2, 5, 10, 20 … that is not below the value; one dollar where nothing cost anything. */
export function niceCeiling(value: bigint): bigint {
  if (value <= 0n) return PICO_USD_PER_USD;
  const unit = 10n ** BigInt(value.toString().length - 1);
  return [1n, 2n, 5n].map((step) => step * unit).find((each) => each >= value) ?? 10n * unit;
}

/** A date for people; the calendar's own, so it is taken as UTC here. */
function dayName(date: CalendarDate, more: "weekday" | "year" | "none" = "none"): string {
  return new Intl.DateTimeFormat("en-GB", {
    day: "numeric",
    month: "short",
    timeZone: "UTC",
    ...(more === "weekday" && { weekday: "short" }),
    ...(more === "year" && { year: "numeric" }),
  }).format(Date.parse(`${date}T00:00:00Z`));
}

/** The cost of each day as bars, with the same as a table for who can't see them. */
export function costChart(days: readonly ChartDay[]): HtmlEscapedString | Promise<HtmlEscapedString> {
  const [most = 0n] = days.map(({ costPicoUsd }) => costPicoUsd).sort((a, b) => (a < b ? 1 : -1));
  const ceiling = niceCeiling(most);
  const width = days.length * SLOT;
  const bars = days.map(({ date, requests, costPicoUsd }, index) => {
    const share = Number((costPicoUsd * 10_000n) / ceiling) / 10_000;
    // What cost anything at all is seen.
    const height = costPicoUsd > 0n ? Math.max(share * HEIGHT, 0.8) : 0;
    const x = index * SLOT;
    return html`<g class="bar"><title>${dayName(date, "weekday")}: ${shortUsd(costPicoUsd)}, ${fullCount(requests)} requests</title><rect class="slot" x="${x}" y="0" width="${SLOT}" height="${HEIGHT}" /><rect x="${x + 1.5}" y="${(HEIGHT - height).toFixed(2)}" width="${SLOT - 3}" height="${height.toFixed(2)}" /></g>`;
  });
  const labelled = [0, Math.floor((days.length - 1) / 2), days.length - 1].filter(
    (at, index, all) => at >= 0 && all.indexOf(at) === index,
  );
  return html`<figure class="chart" aria-labelledby="chart-title">
    <div class="plot">
      <div class="scale" aria-hidden="true"><span>${formatUsd(ceiling)}</span><span>${formatUsd(ceiling / 2n)}</span><span>$0</span></div>
      <svg viewBox="0 0 ${width} ${HEIGHT}" preserveAspectRatio="none" aria-hidden="true" focusable="false">
        <path class="grid" d="M0 0H${width}M0 ${HEIGHT / 2}H${width}M0 ${HEIGHT}H${width}" vector-effect="non-scaling-stroke" />
        ${bars}
      </svg>
    </div>
    <div class="dates" aria-hidden="true">${labelled.map((at) => html`<span>${dayName(days[at]?.date ?? "", days.length < DAYS_WITH_YEAR ? "none" : "year")}</span>`)}</div>
    <details id="chart-table">
      <summary>As a table</summary>
      <div class="scroll" tabindex="0" role="region" aria-label="Cost per day as a table">
        <table>
          <thead><tr><th scope="col">Day</th><th scope="col" class="number">Requests</th><th scope="col" class="number">Cost</th></tr></thead>
          <tbody>${days
            .filter(({ requests }) => requests > 0)
            .toReversed()
            .map(
              (day) =>
                html`<tr><th scope="row">${dayName(day.date, "weekday")}</th><td class="number">${fullCount(day.requests)}</td><td class="number">${shortUsd(day.costPicoUsd)}</td></tr>`,
            )}</tbody>
        </table>
      </div>
    </details>
  </figure>`;
}
