import { html } from "hono/html";
import { type UsageQuery, withFilter } from "../../core/pricing/view/usage-query.ts";
import { metricOf, parseSums } from "../../core/pricing/view/usage-sums.ts";
import { USAGE_METRICS, type UsageAnswer, type UsageDimension } from "../../core/wire/usage.ts";
import { heatLevel } from "../chart/heatmap.ts";
import { highestOf } from "../chart/scale.ts";
import { renderCoverageLine } from "../coverage-figure.ts";
import { DIMENSION_NAMES, nameDimension } from "../dimension-names.ts";
import { renderShare } from "../figures.ts";
import { toRunningText } from "../formats.ts";
import type { Html } from "../html.ts";
import {
  dimensionMenu,
  METRIC_NAMES,
  metricMenu,
  type RowLinks,
  renderCaveats,
  renderNoUsage,
  renderSum,
  renderUsageChips,
  renderUsageMenus,
  renderUsageNotices,
  type UsageMenu,
  type UsageView,
  usageHref,
  withoutOwn,
} from "../usage-view.ts";
import { renderTimes } from "./explore-times.ts";
import { EXPLORE_VIEW, type ExploreForm, exploreForm } from "./explore-view.ts";
import { renderUsageBars } from "./overview.ts";

export interface ExploreAnswer {
  /** By the view's dimensions, with buckets. */
  readonly usage: UsageAnswer;
  /** The dimensions that the host has. */
  readonly dimensions: readonly UsageDimension[];
  readonly links: RowLinks;
}

/** The values of `top` in the menu. */
const TOPS = ["6", "10", "25", "100"];

/** The buckets in the menu. A table has none unless they are asked for. */
const BUCKETS = ["auto", "15m", "hour", "day", "week", "month"];

/** Returns the name of a bucket in the menu. */
function nameBucket(bucket: string, isTable: boolean): string {
  if (isTable && (bucket === "auto" || bucket === "none")) return "the whole period";
  return bucket === "15m" ? "15 minutes" : bucket;
}

/** Renders a query by up to two dimensions, as a table or a chart. */
export function renderExplore({ usage, dimensions, links }: ExploreAnswer, view: UsageView): Html {
  const { query } = view;
  const { isCumulative, hasTimes } = exploreForm(view);
  const title = describeQuery(usage, { hasTimes, isCumulative });
  const option = (
    name: string,
    label: string,
    selected: string,
    values: readonly string[],
    nameOf = (value: string) => value,
  ): UsageMenu => ({
    name,
    label,
    selected,
    values: [...new Set([...values, selected])].map((value) => [value, nameOf(value)]),
  });
  return html`${renderUsageNotices(view)}
    ${renderUsageMenus(view, [
      metricMenu(view, USAGE_METRICS),
      dimensionMenu("by", "by", query.by, dimensions),
      ...(hasTimes ? [] : [dimensionMenu("then", "then", query.thenBy, dimensions, true)]),
      option("bucket", "per", query.bucket, BUCKETS, (bucket) => nameBucket(bucket, !hasTimes)),
      option("top", "top", `${query.top}`, TOPS),
    ])}
    ${renderUsageChips(view)}
    <p class="quiet" data-summary>${METRIC_NAMES[usage.metric]}, ${toRunningText(usage.period.label)} (${usage.tz}).${renderCoverageLine(usage.coverage, links.coverage)}</p>
    ${renderCaveats(usage, links)}
    ${usage.totals.requests === 0 ? html`<div id="explore" data-live>${renderNoUsage(view)}</div>` : renderSums({ usage, links }, view, title)}`;
}

/** Renders the sums as a table or a chart, and the switches between them. */
function renderSums(
  { usage, links }: Pick<ExploreAnswer, "usage" | "links">,
  view: UsageView,
  title: string,
): Html {
  const { isChart, isCumulative, hasTimes } = exploreForm(view);
  return html`<section class="panel" aria-labelledby="explore-title"><div class="head"><h2 id="explore-title">${title}</h2>
      ${hasTimes ? renderSumSwitch(view, isCumulative) : ""}
      <nav aria-label="Table or chart"><ul class="switch">${(["table", "chart"] as const).map((each) => html`<li><a id="view-${each}" href="${usageHref(view, {}, withOwn(view, "view", each))}"${isChart === (each === "chart") ? html` aria-current="true"` : ""}>${each === "table" ? "Table" : "Chart"}</a></li>`)}</ul></nav></div>
      <div id="explore" data-live>${
        isChart
          ? renderUsageBars(usage, view, { isCumulative })
          : hasTimes
            ? renderTimes(usage, view, { title, isCumulative, list: links.list })
            : renderPivot(usage, view, title, links.list)
      }</div>
    </section>`;
}

/** Returns the page's own keys with another value of one. Defaults are left out. */
function withOwn(view: UsageView, key: string, value: string): Record<string, string> {
  const others = withoutOwn(view, key);
  return EXPLORE_VIEW.own?.[key]?.[0] === value ? others : { ...others, [key]: value };
}

/** Renders the links to the sums of each bucket and to the cumulative sums. */
function renderSumSwitch(view: UsageView, isCumulative: boolean): Html {
  const item = (value: "no" | "yes", name: string) =>
    html`<li><a id="cumulative-${value}" href="${usageHref(view, {}, withOwn(view, "cumulative", value))}"${isCumulative === (value === "yes") ? html` aria-current="true"` : ""}>${name}</a></li>`;
  return html`<nav aria-label="Sums"><ul class="switch">${item("no", "Each")}${item("yes", "Cumulative")}</ul></nav>`;
}

function describeQuery(
  { metric, by, then_by }: UsageAnswer,
  { hasTimes, isCumulative }: Pick<ExploreForm, "hasTimes" | "isCumulative">,
): string {
  const dimensions = [by, hasTimes ? null : then_by].flatMap((each) =>
    each === null ? [] : [nameDimension(each)],
  );
  const words = [
    METRIC_NAMES[metric],
    ...(dimensions.length === 0 ? [] : [`by ${dimensions.join(" and ")}`]),
  ];
  return `${words.join(" ")}${isCumulative ? ", cumulative" : ""}`;
}

type Row = UsageAnswer["rows"][number];
type Value = Pick<Row, "key" | "label" | "totals" | "other_values">;

/** Renders rows by columns, with the totals of both. */
function renderPivot(
  usage: UsageAnswer,
  view: UsageView,
  title: string,
  list: (query: UsageQuery) => string,
): Html {
  const { rows, columns, metric, by, then_by } = usage;
  const amountOf = ({ totals }: Pick<Value, "totals">) => metricOf(parseSums(totals), metric);
  const highest = highestOf(rows.flatMap(({ cells }) => cells.map((cell) => amountOf(cell) ?? 0n)));
  const total = amountOf(usage) ?? 0n;
  const heading = ({ key, label, other_values }: Value, dimension: UsageDimension) =>
    other_values === null
      ? html`<a href="${usageHref(view, withFilter(view.query, dimension, key))}"><bdi>${label}</bdi></a>`
      : html`${label} <span class="quiet">(${other_values})</span>`;
  const renderCell = (row: Row, column: Value) => {
    const cell = row.cells.find(
      ({ key, other_values }) =>
        key === column.key && (other_values === null) === (column.other_values === null),
    );
    if (cell === undefined) return html`<td></td>`;
    const value = amountOf(cell);
    const level = value === 0n ? "quiet" : `cell-${heatLevel(value ?? 0n, highest)}`;
    return html`<td class="num ${level}">${toRows(cell.totals, [
      [by, row],
      [then_by, column],
    ])}</td>`;
  };
  /** Renders a sum with a link to its rows, which "Other" has none of. */
  const toRows = (
    totals: Value["totals"],
    values: readonly (readonly [UsageDimension | null, Value])[],
  ): Html => {
    let query: UsageQuery | null = view.query;
    for (const [dimension, { key, other_values }] of values)
      query =
        query === null || dimension === null || other_values !== null
          ? null
          : withFilter(query, dimension, key);
    const shown = renderSum(metric, totals);
    return query === null ? shown : html`<a href="${list(query)}">${shown}</a>`;
  };
  return html`<div class="scroll" tabindex="0" role="region" aria-label="${title} as a table"><table class="pivot" aria-label="${title}">
    <thead><tr><th scope="col">${by === null ? "" : DIMENSION_NAMES[by]}</th>${columns.map((column) => html`<th scope="col" class="num">${then_by === null ? column.label : heading(column, then_by)}</th>`)}<th scope="col" class="num">Total</th><th scope="col" class="num">Share</th></tr></thead>
    <tbody>${rows.map((row) => html`<tr><th scope="row" class="name">${by === null ? row.label : heading(row, by)}</th>${columns.map((column) => renderCell(row, column))}<td class="num">${toRows(row.totals, [[by, row]])}</td><td class="num quiet">${renderShare(amountOf(row) ?? 0n, total)}</td></tr>`)}</tbody>
    <tfoot><tr><th scope="row">Total</th>${columns.map((column) => html`<td class="num">${toRows(column.totals, [[then_by, column]])}</td>`)}<td class="num">${toRows(usage.totals, [])}</td><td></td></tr></tfoot>
  </table></div>`;
}
