import { html } from "hono/html";
import { UNKNOWN } from "../../core/values/text/format-count.ts";
import type { Html } from "../html.ts";
import { ceilToStep, highestOf, percent, pickLabels, stackHeights } from "./scale.ts";

/** A series of a chart. Its colour is a number of the palette, 0 to 6; 6 is grey, for the rest. */
export interface BarSeries {
  readonly name: string;
  readonly colour: number;
}

/** One bar, with the rows behind it at `href`. */
export interface Bar {
  /** Such as a day. */
  readonly label: string;
  /** The label on the axis. Default: `label`. */
  readonly axisLabel?: string;
  readonly href?: string;
  /** By series. */
  readonly values: readonly bigint[];
  /** The sum at the same place in the period that this one is compared with; null if there is none. */
  readonly before?: bigint | null;
  /** For how long no meter ran. Absent: not at all, or it is not known. */
  readonly gap?: BarGap;
  /** What is expected of the rest of its time. It is drawn on the values, and never counted with them. */
  readonly estimate?: bigint;
  /** Whether its time has not begun, so that it has no values. */
  readonly isAhead?: true;
}

/** A time in which no meter ran. */
export interface BarGap {
  /** Such as `not metering for 3 h`. */
  readonly words: string;
  /** Whether the bar's time is hatched: nothing was metered, for most of it because no meter ran. */
  readonly isHatched: boolean;
}

export interface BarChart {
  /** Unique in the page. */
  readonly id: string;
  /** What is drawn, such as "Cost per day". */
  readonly title: string;
  /** The heading of the first column of the table, such as "Day (Europe/Berlin)". */
  readonly heading: string;
  readonly series: readonly BarSeries[];
  /** Whether the values of several series have no sum, such as what was spent and what a plan covers. Default: they have one. */
  readonly hasNoSum?: boolean;
  readonly bars: readonly Bar[];
  /** The top of an empty chart. */
  readonly ceilingIfEmpty: bigint;
  readonly format: (value: bigint) => string;
  /** Renders a value of the table. */
  readonly render: (value: bigint) => Html | string;
}

/** How much of a slot its bar takes. */
const BAR_SHARE = 0.76;

/** The most labels below a chart. */
const MAX_LABELS = 6;

/** Formats the value of a line behind the bars, without zeros that say nothing: `$0.20`. */
const formatScale = ({ format }: BarChart, value: bigint): string =>
  format(value).replace(/(\.\d\d\d*?)0+$/, "$1");

const sumOf = (values: readonly bigint[]): bigint => values.reduce((sum, value) => sum + value, 0n);

/**
 * Renders stacked bars with a table of the same values. The drawing is hidden from screen readers: the table has its values and
 * links.
 */
export function renderBars(chart: BarChart): Html {
  const { bars, series } = chart;
  const highest = highestOf(
    bars.flatMap(({ values, before, estimate = 0n }) => [sumOf(values) + estimate, before ?? 0n]),
  );
  const ceiling = ceilToStep(highest, chart.ceilingIfEmpty);
  const labels = pickLabels(
    bars.map(({ axisLabel, label }) => axisLabel ?? label),
    MAX_LABELS,
  );
  const isCompared = bars.some(({ before }) => before !== undefined && before !== null);
  const hasGaps = bars.some(({ gap }) => gap?.isHatched === true);
  const isEstimated = bars.some(({ estimate }) => estimate !== undefined);
  return html`<figure class="chart" aria-label="${chart.title}">
    <div class="plot">
      <div class="scale" aria-hidden="true">${[ceiling, ceiling / 2n, 0n].map((value) => html`<span>${formatScale(chart, value)}</span>`)}</div>
      <svg aria-hidden="true" focusable="false">
        <pattern id="${chart.id}-hatch" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><path class="hatch" d="M0 0V6" /></pattern>
        ${[0.5, 50, 100].map((y) => html`<line class="rule" x1="0" x2="100%" y1="${percent(y)}" y2="${percent(y)}" />`)}
        ${bars.map((bar, index) => renderBar(chart, bar, index, ceiling))}
      </svg>
      <div class="axis" aria-hidden="true">${labels.map((label) => html`<span>${label}</span>`)}</div>
    </div>
    ${series.length < 2 && !isCompared && !hasGaps && !isEstimated ? "" : renderLegend(series.length < 2 && !isCompared ? [] : series, { isCompared, isEstimated, hatch: hasGaps ? `${chart.id}-hatch` : null })}
    ${renderBarTable(chart, isCompared)}
  </figure>`;
}

function renderBar(chart: BarChart, bar: Bar, index: number, ceiling: bigint): Html {
  const { bars, series } = chart;
  const width = 100 / bars.length;
  const x = index * width;
  const heights = stackHeights([...bar.values, bar.estimate ?? 0n], ceiling);
  let top = 100;
  const rects = heights.map((height, n) => {
    top -= height;
    const kind = n === bar.values.length ? "ahead" : `f${series[n]?.colour ?? 6}`;
    return height === 0
      ? ""
      : html`<rect class="${kind}" x="${percent(x + (width * (1 - BAR_SHARE)) / 2)}" y="${percent(top)}" width="${percent(width * BAR_SHARE)}" height="${percent(height)}" />`;
  });
  const [before = 0] = stackHeights([bar.before ?? 0n], ceiling);
  const line =
    before === 0
      ? ""
      : html`<line class="before" x1="${percent(x)}" x2="${percent(x + width)}" y1="${percent(100 - before)}" y2="${percent(100 - before)}" />`;
  const gap =
    bar.gap?.isHatched === true
      ? html`<rect class="gap" fill="url(#${chart.id}-hatch)" x="${percent(x)}" y="0" width="${percent(width)}" height="100%" />`
      : "";
  const drawn = html`<rect class="slot" x="${percent(x)}" y="0" width="${percent(width)}" height="100%" />${gap}${rects}${line}`;
  const tip = describeBar(chart, bar);
  return bar.href === undefined
    ? html`<g data-tip="${tip}">${drawn}</g>`
    : html`<a href="${bar.href}" tabindex="-1"><g data-tip="${tip}">${drawn}</g></a>`;
}

const hasSum = ({ hasNoSum = false, series }: BarChart): boolean => !hasNoSum || series.length === 1;

function describeBar(chart: BarChart, bar: Bar): string {
  const { series, format } = chart;
  const { label, values, before, gap, estimate, isAhead = false } = bar;
  if (isAhead) return `${label}: estimate ${format(estimate ?? 0n)}`;
  const total = sumOf(values);
  const parts = series.flatMap(({ name }, n) =>
    (values[n] ?? 0n) > 0n ? [`${name}: ${format(values[n] ?? 0n)}`] : [],
  );
  const facts = [
    ...(gap?.isHatched === true || (total !== 0n && !hasSum(chart)) ? [] : [format(total)]),
    ...(gap === undefined ? [] : [gap.words]),
  ];
  return [
    facts.length === 0 ? label : `${label}: ${facts.join(", ")}`,
    ...(series.length > 1 ? parts.toReversed() : []),
    ...(before === undefined || before === null ? [] : [`before: ${format(before)}`]),
    ...(estimate === undefined ? [] : [`still to come, estimate: ${format(estimate)}`]),
  ].join("\n");
}

/** Renders the names of series with their colours, in the order from the top of a bar. */
const renderLegend = (
  series: readonly BarSeries[],
  {
    isCompared = false,
    isEstimated = false,
    hatch = null,
  }: { readonly isCompared?: boolean; readonly isEstimated?: boolean; readonly hatch?: string | null } = {},
): Html =>
  html`<ul class="legend">${series.toReversed().map(({ name, colour }) => html`<li><i class="f${colour}"></i><bdi class="name">${name}</bdi></li>`)}${isCompared ? html`<li>&#x2504; before</li>` : ""}${isEstimated ? html`<li><svg class="key" aria-hidden="true" focusable="false"><rect class="ahead" x="1" y="1" width="80%" height="80%" /></svg>estimate</li>` : ""}${hatch === null ? "" : html`<li><svg class="key" aria-hidden="true" focusable="false"><rect fill="url(#${hatch})" width="100%" height="100%" /></svg>not metering</li>`}</ul>`;

function renderBarTable(chart: BarChart, isCompared: boolean): Html {
  const { id, title, heading, series, bars, render } = chart;
  const columns = series.length > 1;
  const isEstimated = bars.some(({ estimate }) => estimate !== undefined);
  const renderOrUnknown = (value: bigint | null | undefined) => (value == null ? UNKNOWN : render(value));
  const withSum = hasSum(chart);
  return html`<details id="${id}-table">
    <summary>${title} as a table</summary>
    <div class="scroll" tabindex="0" role="region" aria-label="${title} as a table">
      <table aria-label="${title}">
        <thead><tr><th scope="col">${heading}</th>${columns ? series.map(({ name }) => html`<th scope="col" class="num"><bdi>${name}</bdi></th>`) : ""}${withSum ? html`<th scope="col" class="num">Total</th>` : ""}${isCompared ? html`<th scope="col" class="num">Before</th>` : ""}${isEstimated ? html`<th scope="col" class="num">Still to come, estimate</th>` : ""}</tr></thead>
        <tbody>${bars
          .toReversed()
          .map(
            ({ label, href, values, before, gap, estimate, isAhead = false }) =>
              html`<tr><th scope="row" class="when">${href === undefined ? label : html`<a href="${href}">${label}</a>`}${gap === undefined ? "" : ` (${gap.words})`}</th>${columns ? values.map((value) => html`<td class="num">${isAhead ? UNKNOWN : render(value)}</td>`) : ""}${withSum ? html`<td class="num">${isAhead ? UNKNOWN : render(sumOf(values))}</td>` : ""}${isCompared ? html`<td class="num">${renderOrUnknown(before)}</td>` : ""}${isEstimated ? html`<td class="num">${renderOrUnknown(estimate)}</td>` : ""}</tr>`,
          )}</tbody>
      </table>
    </div>
  </details>`;
}
