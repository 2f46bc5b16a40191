import { html } from "hono/html";
import { accumulateUsage } from "../../core/pricing/view/usage-cumulative.ts";
import { type UsageQuery, withFilter } from "../../core/pricing/view/usage-query.ts";
import { isMoney } from "../../core/pricing/view/usage-sums.ts";
import { UNKNOWN } from "../../core/values/text/format-count.ts";
import type { UsageAnswer } from "../../core/wire/usage.ts";
import { heatLevel } from "../chart/heatmap.ts";
import { highestOf } from "../chart/scale.ts";
import { describeGap } from "../coverage-figure.ts";
import type { Html } from "../html.ts";
import { renderMetric, renderSum, type UsageView, usageHref } from "../usage-view.ts";

/** What a table by time has besides the answer. */
interface TimesOptions {
  readonly title: string;
  readonly isCumulative: boolean;
  /** Returns the address of the requests of a query. */
  readonly list: (query: UsageQuery) => string;
}

type Row = UsageAnswer["rows"][number];

/** Renders a row for each bucket, the latest first, with a column for each value. */
export function renderTimes(
  usage: UsageAnswer,
  view: UsageView,
  { title, isCumulative, list }: TimesOptions,
): Html {
  const { rows, metric, by, tz, period } = usage;
  const sums = isCumulative ? accumulateUsage(usage) : null;
  const buckets = sums?.buckets ?? usage.buckets;
  const seriesOf = (row: Row, n: number) => (sums?.series[n] ?? row.series).map(toAmount);
  const columns = rows.map(seriesOf);
  const highest = highestOf(columns.flatMap((series) => series.map((value) => value ?? 0n)));
  const heading = ({ key, label, other_values }: Row) =>
    by === null || other_values !== null
      ? html`${label}${other_values === null ? "" : html` <span class="quiet">(${other_values})</span>`}`
      : html`<a href="${usageHref(view, withFilter(view.query, by, key))}"><bdi>${label}</bdi></a>`;
  const queryOf = ({ from, to }: { readonly from: string; readonly to: string }): UsageQuery => ({
    ...view.query,
    // A cumulative sum is of all requests since the period began.
    period: { from: isCumulative ? period.from : from, to },
  });
  const rowsOf = (row: Row, query: UsageQuery) =>
    by === null || row.other_values !== null ? null : list(withFilter(query, by, row.key));
  const cell = (row: Row, n: number, at: number) => {
    const bucket = buckets[at]!;
    const value = columns[n]?.[at] ?? null;
    // The amounts of a bucket by value do not say which of its requests have no price.
    const isUnsure =
      isMoney(metric) && bucket.totals.unpriced_requests > 0 && row.totals.unpriced_requests > 0;
    if (value === 0n)
      return html`<td class="num quiet">${isUnsure ? UNKNOWN : renderMetric(metric, value)}</td>`;
    const href = rowsOf(row, queryOf(bucket));
    const shown = renderMetric(metric, value);
    return html`<td class="num cell-${heatLevel(value ?? 0n, highest)}">${href === null ? shown : html`<a href="${href}">${shown}</a>`}</td>`;
  };
  return html`<div class="scroll" tabindex="0" role="region" aria-label="${title} as a table"><table class="pivot" aria-label="${title}">
    <thead><tr><th scope="col">Time (${tz})</th>${rows.map((row) => html`<th scope="col" class="num">${heading(row)}</th>`)}<th scope="col" class="num">Total</th></tr></thead>
    <tbody>${buckets
      .map((bucket, at) => {
        const { from, to, label, totals, stopped_ms = null } = bucket;
        const time = { from: Date.parse(from), to: Date.parse(to), stoppedMs: stopped_ms };
        const gap = describeGap(time, usage.buckets[at]!.totals.requests);
        return html`<tr><th scope="row" class="when"><a href="${usageHref(view, { period: { from, to } })}">${label}</a>${gap === undefined ? "" : ` (${gap.words})`}</th>${rows.map((row, n) => cell(row, n, at))}<td class="num"><a href="${list(queryOf(bucket))}">${renderSum(metric, totals)}</a></td></tr>`;
      })
      .toReversed()}</tbody>
    <tfoot><tr><th scope="row">${isCumulative ? "Whole period" : "Total"}</th>${rows.map((row) => html`<td class="num">${renderTotal(row, rowsOf(row, view.query), metric)}</td>`)}<td class="num"><a href="${list(view.query)}">${renderSum(metric, usage.totals)}</a></td></tr></tfoot>
  </table></div>`;
}

const toAmount = (value: string | null): bigint | null => (value === null ? null : BigInt(value));

function renderTotal({ totals }: Row, href: string | null, metric: UsageAnswer["metric"]): Html {
  const shown = renderSum(metric, totals);
  return href === null ? shown : html`<a href="${href}">${shown}</a>`;
}
