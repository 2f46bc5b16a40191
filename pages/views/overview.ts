import { html } from "hono/html";
import { PICO_USD_PER_USD } from "../../core/pricing/decimal.ts";
import { assignColours } from "../../core/pricing/view/palette.ts";
import { accumulateUsage } from "../../core/pricing/view/usage-cumulative.ts";
import {
  DEFAULT_USAGE_QUERY,
  printUsageQuery,
  type UsageQuery,
  withFilter,
} from "../../core/pricing/view/usage-query.ts";
import type { UsageSeries } from "../../core/pricing/view/usage-reports.ts";
import { isMoney, metricOf, parseSums, type UsageSums } from "../../core/pricing/view/usage-sums.ts";
import { formatCount } from "../../core/values/text/format-count.ts";
import { formatQuantity } from "../../core/values/text/format-quantity.ts";
import { addQueries } from "../../core/values/text/query-string.ts";
import { weekdayOf } from "../../core/values/zone.ts";
import type { UsageAnswer, UsageDimension, UsageForecast, UsageMetric } from "../../core/wire/usage.ts";
import { type Bar, renderBars } from "../chart/bars.ts";
import { type HeatCell, renderHeatmap } from "../chart/heatmap.ts";
import { renderMeter } from "../chart/meter.ts";
import { describeCoverageFigure, describeGap, renderCoverageValue } from "../coverage-figure.ts";
import { DIMENSION_NAMES, nameDimension } from "../dimension-names.ts";
import { renderChange, renderShare, renderShortCount, renderUsd } from "../figures.ts";
import { formatShortUsd, shortenDate } from "../formats.ts";
import type { Html } from "../html.ts";
import { type FailedPart, renderUnreadOf } from "../page-parts.ts";
import { pageHref } from "../page-place.ts";
import { type FirstStep, renderFirstRun, renderState } from "../states.ts";
import { nameMonth } from "../times.ts";
import type { UsageResult } from "../usage-host.ts";
import {
  comparisonMenu,
  dimensionMenu,
  filterMenus,
  formatMetric,
  METRIC_NAMES,
  metricMenu,
  type RowLinks,
  renderCaveats,
  renderMetric,
  renderNoUsage,
  renderSum,
  renderUsageChips,
  renderUsageMenus,
  renderUsageNotices,
  type UsageView,
  type UsageViewSpec,
  usageHref,
  usagePageHref,
} from "../usage-view.ts";
import { EXPLORE_VIEW } from "./explore-view.ts";
import { type PriceAdvice, renderPriceAdvice } from "./request.ts";

export const OVERVIEW_VIEW: UsageViewSpec = {
  path: "/",
  defaults: { by: "model" },
  own: { tab: ["project", "branch"] },
};

/** Whether the view shows branches in place of projects. */
export const showsBranches = ({ own }: UsageView): boolean => own.tab === "branch";

/** The metrics of the overview's chart. */
const METRICS: readonly UsageMetric[] = [
  "spent",
  "plan_usage",
  "requests",
  "failed_requests",
  "tokens",
  "output_tokens",
];

/** The dimensions that its chart can be stacked by. */
const STACKS: readonly UsageDimension[] = [
  "model",
  "project",
  "branch",
  "provider",
  "client",
  "billing",
  "status",
];

/** The values of these can be chosen as filters. */
const FILTERS: readonly UsageDimension[] = ["project", "model", "client", "person", "machine"];

export interface OverviewAnswer {
  /** The dimensions that the host has. */
  readonly dimensions: readonly UsageDimension[];
  /** By the view's dimension, with buckets. */
  readonly usage: UsageAnswer;
  /** The same query by one dimension each, without buckets. */
  readonly breakdowns: readonly UsageAnswer[];
  /** By branch, in place of the projects; null if the view shows projects. */
  readonly branches: UsageResult<UsageAnswer> | null;
  /** This month; null if it is not known. */
  readonly forecast: UsageForecast | null;
  /** A year by day, and some weeks by hour; null if they are left out. */
  readonly year: UsageSeries | null;
  readonly hours: UsageSeries | null;
  /** How to give the models of unpriced requests a price. */
  readonly priceFixes: readonly PriceAdvice[];
  /** The steps to the first call; empty if there was one. */
  readonly firstSteps: readonly FirstStep[];
  readonly links: RowLinks;
  /** The parts that could not be read. */
  readonly failed: readonly FailedPart[];
}

/** Renders what was spent, on what, and where it is going. */
export function renderOverview(answer: OverviewAnswer, view: UsageView): Html {
  const { usage, firstSteps, links, failed } = answer;
  if (firstSteps.length > 0) return html`<div id="first" data-live>${renderFirstRun(firstSteps)}</div>`;
  return html`${renderUsageNotices(view)}
    ${renderControls(answer, view)}
    ${renderUnreadOf(failed, "names of filters")}
    ${renderUsageChips(view)}
    <div id="summary" data-live><p class="quiet" data-summary>${describePeriod(usage)} ${describeChange(usage)}</p>
    ${renderFigures(answer, view)}
    ${renderUnreadOf(failed, "estimate of this month", "prices of models", "first steps")}
    ${renderCaveats(usage, links)}
    ${answer.priceFixes.length === 0 ? "" : html`<details id="price-fixes" class="panel"><summary>How these models get a price</summary>${answer.priceFixes.map(renderPriceAdvice)}</details>`}</div>
    ${usage.totals.requests === 0 ? renderNothing(usage, view) : renderContents(answer, view)}`;
}

function renderContents(answer: OverviewAnswer, view: UsageView): Html {
  const { usage, breakdowns, failed } = answer;
  const ahead = listEstimates(answer, view);
  return html`${renderPlanHint(usage, view)}<section class="panel" aria-labelledby="chart-title">
      <div class="head"><h2 id="chart-title">${METRIC_NAMES[usage.metric]} by ${nameOf(usage.by)}</h2><span class="quiet">${describeBuckets(usage)}${describeEstimates(ahead)}</span></div>
      <div id="chart" data-live>${renderUsageBars(usage, view, { ahead })}</div>
    </section>
    ${renderUnreadOf(failed, "breakdowns", "breakdowns, estimate, days of the year and hours of the week")}
    <div class="pair" id="breakdowns" data-live>${breakdowns.map((each) => (each.by === "project" ? renderFirstBreakdown(each, answer, view) : renderBreakdown(each, view)))}</div>
    ${renderUnreadOf(failed, "days of the year", "hours of the week")}
    ${renderWhen(answer, view)}`;
}

/** Leads to what a plan covered where nothing was spent: a chart and tables of what was spent would be empty. */
function renderPlanHint({ metric, totals }: UsageAnswer, view: UsageView): Html | "" {
  if (metric !== "spent" || totals.spent_pico_usd !== "0" || totals.plan_usage_pico_usd === "0") return "";
  return html`<div class="notice calm" role="note">Nothing was spent: a plan covered the calls. <a href="${usageHref(view, { metric: "plan_usage" })}">Show plan usage</a></div>`;
}

const nameOf = (dimension: UsageDimension | null): string =>
  dimension === null ? "time" : nameDimension(dimension);

function renderControls({ breakdowns, dimensions }: OverviewAnswer, view: UsageView): Html {
  const has = (dimension: UsageDimension) => dimensions.includes(dimension);
  const valuesOf = (dimension: UsageDimension) =>
    (breakdowns.find(({ by }) => by === dimension)?.rows ?? []).flatMap(({ key, label }) =>
      key === null ? [] : [[key, label] as const],
    );
  return renderUsageMenus(
    view,
    [
      metricMenu(view, METRICS),
      dimensionMenu("by", "by", view.query.by, STACKS.filter(has)),
      comparisonMenu(view),
    ],
    FILTERS.filter(has).flatMap((dimension) => filterMenus(view, dimension, valuesOf(dimension))),
  );
}

/** The period in words, with its zone. */
const describePeriod = ({ period, tz }: UsageAnswer): string => `${period.label} (${tz}).`;

/** Describes the change in a sentence, with the value that explains most of it. */
function describeChange({ change, metric, compared_period, by }: UsageAnswer): Html | "" {
  if (change === null || compared_period === null) return "";
  const delta = BigInt(change.delta);
  const explained = BigInt(change.explained);
  const size = (value: bigint) => formatMetric(metric, value < 0n ? -value : value);
  return html`${delta > 0n ? "Up" : "Down"} ${size(delta)} compared with ${compared_period.label}${by === null ? "." : html`; <bdi>${change.label}</bdi> explains ${size(explained)}.`}`;
}

/** Returns a query with one more filter. A filter by the same dimension stays, because the figures are within it. */
const withMore = (query: UsageQuery, dimension: UsageDimension, value: string): UsageQuery =>
  query.filters.some((filter) => filter.dimension === dimension)
    ? query
    : withFilter(query, dimension, value);

const inputOf = ({ tokens }: UsageSums): bigint =>
  (tokens.prompt ?? 0n) + (tokens.cacheRead ?? 0n) + (tokens.cacheWrite ?? 0n);

function renderFigures({ usage, forecast, links, dimensions }: OverviewAnswer, { query }: UsageView): Html {
  const totals = parseSums(usage.totals);
  const before = usage.compared === null ? null : parseSums(usage.compared);
  const { coverage } = usage;
  const tokens = metricOf(totals, "tokens");
  const tile = (name: string, value: Html | string, note: Html | string) =>
    html`<div><dt>${name}</dt><dd class="value">${value}</dd><dd>${note}</dd></div>`;
  const change = (metric: UsageMetric) => {
    if (before === null) return "";
    const earlier = metricOf(before, metric) ?? 0n;
    return earlier === 0n
      ? "none in the period before"
      : html`${renderChange(metricOf(totals, metric) ?? 0n, earlier)} on the period before`;
  };
  const toRows = (value: Html | string, rows: UsageQuery) => html`<a href="${links.list(rows)}">${value}</a>`;
  const payer = (picoUsd: bigint, mode: string) =>
    toRows(renderUsd(picoUsd), dimensions.includes("billing") ? withMore(query, "billing", mode) : query);
  const ofStatus = (count: number, status: string, word: string) =>
    toRows(`${formatCount(count)} ${word}`, withMore(query, "status", status));
  const failed =
    totals.failed === 0
      ? "none failed"
      : html`${ofStatus(totals.failed, "failed", "failed")}, ${renderShare(totals.failed, totals.requests - totals.blocked)}`;
  const outcomes =
    totals.blocked === 0 ? failed : html`${failed}, ${ofStatus(totals.blocked, "blocked", "refused")}`;
  return html`<dl class="figures">
    ${tile("Spent", payer(totals.spentPicoUsd, "metered"), change("spent"))}
    ${totals.planUsagePicoUsd === 0n ? "" : tile("Plan usage", payer(totals.planUsagePicoUsd, "plan"), "at API prices, not spent")}
    ${totals.unknownBillingPicoUsd === 0n ? "" : tile("Unknown billing", payer(totals.unknownBillingPicoUsd, "unknown"), "spent or covered by a plan")}
    ${forecast === null ? "" : renderForecast(forecast)}
    ${tile("Requests", toRows(renderShortCount(totals.requests), query), outcomes)}
    ${tile("Tokens", renderShortCount(tokens), inputOf(totals) === 0n ? "" : html`${renderShare(totals.tokens.cacheRead ?? 0n, inputOf(totals))} of the input from caches`)}
    ${coverage === null ? "" : tile("Coverage", renderCoverageValue(coverage, links.coverage), describeCoverageFigure(coverage))}
  </dl>`;
}

function renderForecast({ to_date, estimate, month }: UsageForecast): Html {
  const range =
    estimate === null
      ? "no estimate before 14 days of data"
      : `estimate: ${formatShortUsd(BigInt(estimate.low))} to ${formatShortUsd(BigInt(estimate.high))}`;
  return html`<div><dt>${nameMonth(`${month}-01`)} so far</dt><dd class="value">${renderUsd(BigInt(to_date))}</dd><dd>${range}</dd></div>`;
}

function renderNothing(usage: UsageAnswer, view: UsageView): Html {
  const missed = usage.coverage?.seen ?? 0;
  if (missed === 0 || view.query.filters.length > 0) return renderNoUsage(view);
  return renderState(
    "Calls in this period were not metered",
    `${formatQuantity(missed, "call")} passed without being read.`,
    html`<p><a href="${usageHref(view, { period: "12m" })}">Show 12 months</a></p>`,
  );
}

const BUCKETS: Readonly<Record<UsageAnswer["bucket"], string>> = {
  none: "",
  "15m": "per quarter of an hour",
  hour: "per hour",
  day: "per day",
  week: "per week",
  month: "per month",
};

const describeBuckets = ({ bucket, tz, compared_period }: UsageAnswer): string =>
  `${BUCKETS[bucket]}, ${tz}${compared_period === null ? "" : `; dashed: ${compared_period.label}`}`;

/** What is expected of the rest of the period by day; the first day may have begun. */
type Estimates = UsageForecast["remaining"];

/**
 * Returns what is expected until the period ends: of the rest of the last day, and of this month also of the days to its end. Empty if
 * the chart has no days, or shows something else than the estimate.
 */
function listEstimates({ usage, forecast }: OverviewAnswer, { query }: UsageView): Estimates {
  const { bucket, metric, buckets } = usage;
  if (forecast === null || bucket !== "day" || metric !== forecast.metric) return [];
  const [today, ...days] = forecast.remaining;
  if (today === undefined || buckets.at(-1)?.label.startsWith(today.date) !== true) return [];
  return query.period === "mtd" ? [today, ...days] : [today];
}

function describeEstimates(days: Estimates): string {
  const [first] = days;
  const last = days.at(-1);
  if (first === undefined || last === undefined) return "";
  return `; outlined: estimate ${last === first ? "of the rest of today" : `until ${last.date}`}`;
}

/** The top of an empty chart. */
const emptyCeiling = (metric: UsageMetric): bigint => (isMoney(metric) ? PICO_USD_PER_USD : 10n);

/** The colour of "Other" and of unknown values. */
const GREY = 6;

/** What a chart has besides the answer. */
interface UsageBarOptions {
  readonly ahead?: Estimates;
  /** Whether each bar has the sum since the period began. */
  readonly isCumulative?: boolean;
}

/** Renders the buckets of an answer, stacked by its rows. A bar leads to the same view of its time. */
export function renderUsageBars(
  usage: UsageAnswer,
  view: UsageView,
  { ahead = [], isCumulative = false }: UsageBarOptions = {},
): Html {
  const { metric } = usage;
  const sums = isCumulative ? accumulateUsage(usage) : null;
  const { buckets, compared_series } = sums ?? usage;
  const rows = usage.rows
    .map((row, n) => ({ ...row, series: sums?.series[n] ?? row.series }))
    .filter(({ series }) => series.some((value) => value !== null && value !== "0"));
  const sorted = rows.toReversed();
  const colours = assignColours(rows.map(({ key }) => key));
  const series = rows.map(({ label }, n) => ({ name: label, colour: colours[n] ?? GREY }));
  const [today, ...days] = ahead.map(({ date, value }) => ({ date, estimate: BigInt(value) }));
  const begun = buckets.map(({ label, from, to, totals, stopped_ms }, at): Bar => {
    const before = compared_series[at];
    const time = { from: Date.parse(from), to: Date.parse(to), stoppedMs: stopped_ms };
    const gap = describeGap(time, usage.buckets[at]?.totals.requests ?? 0);
    return {
      ...(gap !== undefined && { gap }),
      label,
      axisLabel: shortenDate(label),
      ...(at === buckets.length - 1 && today !== undefined && { estimate: today.estimate }),
      href: usageHref(view, { period: { from, to } }),
      values:
        rows.length === 0
          ? [metricOf(parseSums(totals), metric) ?? 0n]
          : sorted.map((row) => BigInt(row.series[at] ?? "0")),
      before: before === undefined || before === null ? null : BigInt(before),
    };
  });
  const none = Array.from({ length: Math.max(1, rows.length) }, () => 0n);
  const bars = [
    ...begun,
    ...days.map(({ date, estimate }): Bar => {
      const axisLabel = shortenDate(date);
      return { label: date, axisLabel, values: none, before: null, estimate, isAhead: true };
    }),
  ];
  return renderBars({
    id: "usage",
    title: `${METRIC_NAMES[metric]} by ${nameOf(usage.by)}${isCumulative ? ", cumulative" : ""}`,
    heading: `Time (${usage.tz})`,
    series: rows.length === 0 ? [{ name: METRIC_NAMES[metric], colour: 0 }] : series.toReversed(),
    bars,
    ceilingIfEmpty: emptyCeiling(metric),
    format: (value) => formatMetric(metric, value),
    render: (value) => renderMetric(metric, value),
  });
}

/** Renders the projects or the branches, whichever the view shows. */
function renderFirstBreakdown(projects: UsageAnswer, { branches }: OverviewAnswer, view: UsageView): Html {
  if (branches === null) return renderBreakdown(projects, view, renderTabs(view));
  if (branches.ok) return renderBreakdown(branches.value, view, renderTabs(view));
  return html`<section class="panel" aria-labelledby="branch-title"><div class="head"><h2 id="branch-title">Branches</h2>${renderTabs(view)}</div><p class="quiet">${branches.detail}</p></section>`;
}

/** Renders the ways to the projects, the branches, and the list of sessions, the costliest first. */
function renderTabs(view: UsageView): Html {
  const isBranch = showsBranches(view);
  const tab = (value: string, name: string, isCurrent: boolean) =>
    html`<li><a id="tab-${value}" href="${usageHref(view, {}, value === "project" ? {} : { tab: value })}"${isCurrent ? html` aria-current="true"` : ""}>${name}</a></li>`;
  return html`<nav aria-label="Breakdown"><ul class="switch">${tab("project", "Projects", !isBranch)}${tab("branch", "Branches", isBranch)}<li><a href="${sessionsHref(view)}">Sessions</a></li></ul></nav>`;
}

function sessionsHref(view: UsageView): string {
  const { period, filters } = view.query;
  const query = printUsageQuery({ ...DEFAULT_USAGE_QUERY, period, filters });
  return addQueries(pageHref(view.base, "/sessions"), query, "sort=cost");
}

/** Renders the values of one dimension with their shares. A click filters by the value. */
export function renderBreakdown(answer: UsageAnswer, view: UsageView, tabs: Html | "" = ""): Html {
  const { by, rows, metric } = answer;
  if (by === null) return html``;
  const whole = metricOf(parseSums(answer.totals), metric) ?? 0n;
  const title = by === "person" ? "People" : `${DIMENSION_NAMES[by]}s`.replace(/chs$/, "ches");
  const explore = usagePageHref(view, EXPLORE_VIEW, { ...view.query, by, thenBy: null });
  return html`<section class="panel" aria-labelledby="${by}-title"><div class="head"><h2 id="${by}-title">${title}</h2>${tabs}<a href="${explore}">Explore</a></div>
    ${
      rows.length === 0
        ? html`<p class="quiet">None in this period.</p>`
        : html`<div class="scroll"><table aria-label="${title}">
    <thead><tr><th scope="col">${DIMENSION_NAMES[by]}</th><th scope="col" class="share desk"><span class="hidden">Share</span></th><th scope="col" class="num">Share</th><th scope="col" class="num">${METRIC_NAMES[metric]}</th><th scope="col" class="num desk">${answer.compared === null ? "" : "Change"}</th></tr></thead>
    <tbody>${rows.map((row) => {
      const value = metricOf(parseSums(row.totals), metric);
      const before = row.compared === null ? null : metricOf(parseSums(row.compared), metric);
      const href = row.other_values === null ? usageHref(view, withFilter(view.query, by, row.key)) : explore;
      const label = row.other_values === null ? row.label : `${formatCount(row.other_values)} others`;
      return html`<tr><th scope="row" class="name"><a href="${href}"><bdi>${label}</bdi></a></th><td class="share desk">${renderMeter({ percent: whole === 0n ? 0 : Number(((value ?? 0n) * 1_000n) / whole) / 10 })}</td><td class="num">${renderShare(value ?? 0n, whole)}</td><td class="num">${renderSum(metric, row.totals)}${metric === "spent" && row.totals.plan_usage_pico_usd !== "0" ? html`<span class="sub">${renderUsd(BigInt(row.totals.plan_usage_pico_usd))} plan</span>` : ""}</td><td class="num desk quiet">${before === null ? "" : renderChange(value ?? 0n, before)}</td></tr>`;
    })}</tbody></table></div>`
    }</section>`;
}

/** Renders when usage happened: a year by day, and a week by hour. The tables are those of Explore. */
function renderWhen({ year, hours }: OverviewAnswer, view: UsageView): Html | "" {
  if (year === null && hours === null) return "";
  const table = (period: "12m" | "30d", bucket: "day" | "hour") =>
    `${usagePageHref(view, EXPLORE_VIEW, { ...view.query, period, bucket, by: EXPLORE_VIEW.defaults?.by ?? null, top: 10 })}&view=chart`;
  return html`<section class="panel" aria-labelledby="when-title"><div class="head"><h2 id="when-title">When</h2><span class="quiet">${METRIC_NAMES[view.query.metric]}, ${year?.tz ?? hours?.tz}</span></div>
    ${year === null ? "" : html`<div class="head"><h3>By day, 12 months</h3><a href="${table("12m", "day")}">As a table</a></div>${renderYear(year)}`}
    ${hours === null ? "" : html`<div class="head"><h3>By weekday and hour, 30 days</h3><a href="${table("30d", "hour")}">As a table</a></div>${renderWeek(hours)}`}</section>`;
}

const WEEKDAYS = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];

/** Returns why a time has no calls, if that is because no meter ran. */
function gapOf(bucket: Omit<UsageSeries["buckets"][number], "label" | "value">): Pick<HeatCell, "gap"> {
  const gap = describeGap(bucket, bucket.requests);
  return gap?.isHatched === true ? { gap: gap.words } : {};
}

/** Draws a column per week, with a row per weekday. */
function renderYear(year: UsageSeries): Html {
  const rows = WEEKDAYS.map((name) => ({ name, cells: [] as HeatCell[] }));
  const months = new Map<number, string>();
  const first = weekdayOf(year.buckets[0]?.label ?? "1970-01-01");
  for (let day = 0; day < first; day += 1) rows[day]?.cells.push({ label: "", value: null });
  for (const [at, bucket] of year.buckets.entries()) {
    const { label, value } = bucket;
    rows[(first + at) % 7]?.cells.push({ label, value, ...gapOf(bucket) });
    if (label.endsWith("-01")) months.set(Math.floor((first + at) / 7), label.slice(0, 7));
  }
  const shown = [...months].filter((_, n) => n % 2 === 0);
  return renderHeatmap("By day, 12 months", rows, new Map(shown), (value) =>
    formatMetric(year.metric, value),
  );
}

/** Adds up the same hour of several weeks. For how long no meter ran is unknown if it is of one of them. */
function addHours(hours: UsageSeries["buckets"]): Pick<HeatCell, "value" | "gap"> {
  const whole = { from: 0, to: 0, requests: 0, value: 0n, stoppedMs: 0 as number | null };
  for (const { from, to, requests, value, stoppedMs } of hours) {
    whole.to += to - from;
    whole.requests += requests;
    whole.value += value;
    whole.stoppedMs = stoppedMs === null || whole.stoppedMs === null ? null : whole.stoppedMs + stoppedMs;
  }
  return { value: whole.value, ...gapOf(whole) };
}

const formatHour = (hour: number): string => `${String(hour).padStart(2, "0")}:00`;

/** The hours that are named below a week. */
const HOURS: ReadonlyMap<number, string> = new Map([0, 6, 12, 18].map((hour) => [hour, formatHour(hour)]));

/** Draws a column per hour, with a row per weekday. */
function renderWeek(hours: UsageSeries): Html {
  const byHour = Map.groupBy(
    hours.buckets,
    ({ label }) => `${weekdayOf(label.slice(0, 10))} ${label.slice(11, 13)}`,
  );
  const rows = WEEKDAYS.map((name, day) => ({
    name,
    cells: Array.from({ length: 24 }, (_, at): HeatCell => {
      const hour = formatHour(at);
      return { label: `${name} ${hour}`, ...addHours(byHour.get(`${day} ${hour.slice(0, 2)}`) ?? []) };
    }),
  }));
  return renderHeatmap("By weekday and hour, 30 days", rows, HOURS, (value) =>
    formatMetric(hours.metric, value),
  );
}
