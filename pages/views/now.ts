import { html } from "hono/html";
import type { CostSplit } from "../../core/pricing/cost-split.ts";
import { PICO_USD_PER_USD } from "../../core/pricing/decimal.ts";
import { formatQuantity } from "../../core/values/text/format-quantity.ts";
import type { Millis } from "../../core/values/time.ts";
import type { UsageAnswer, UsageDimension } from "../../core/wire/usage.ts";
import { type Bar, renderBars } from "../chart/bars.ts";
import { type CoverageFigure, describeCoverageFigure, renderCoverageValue } from "../coverage-figure.ts";
import { formatSpan, renderUsd } from "../figures.ts";
import { formatShortUsd } from "../formats.ts";
import type { Html } from "../html.ts";
import { renderName } from "../names.ts";
import { type FailedPart, renderUnread, renderUnreadOf } from "../page-parts.ts";
import { type PagePlace, pageHref } from "../page-place.ts";
import { type FirstStep, renderFirstRun } from "../states.ts";
import { formatTimeOfDay } from "../times.ts";
import {
  filterMenusOf,
  readUsageView,
  renderUsageChips,
  renderUsageMenus,
  renderUsageNotices,
  type UsageView,
} from "../usage-view.ts";
import { type LimitWindow, renderLimitTable } from "./limits.ts";
import { renderRequestTable } from "./request-table.ts";
import type { RequestSender, ShownRequest } from "./shown-request.ts";

/** Sums of calls with who pays. */
export interface NowTotal {
  readonly requests: number;
  readonly split: CostSplit;
}

/** A call whose response has not ended. */
export interface RunningCall {
  readonly provider: string;
  readonly model: string | null;
  readonly client: string | null;
  readonly runningMs: number;
}

export interface NowAnswer {
  readonly today: NowTotal;
  readonly lastHour: NowTotal;
  /** Of today. */
  readonly coverage: CoverageFigure;
  /** The calls in flight; null in a cloud, which does not know them. */
  readonly calls: readonly RunningCall[] | null;
  /** Null if they could not be read. */
  readonly limits: readonly LimitWindow[] | null;
  /** The last 60 minutes by who pays, the current one last. */
  readonly minutes: readonly { readonly at: Millis; readonly split: CostSplit }[];
  readonly latest: readonly ShownRequest[];
  /** Who sent the latest requests to a cloud. Absent: this machine did. */
  readonly senders?: ReadonlyMap<string, RequestSender>;
  /** The filters of the page, and today's usage by each dimension that has a menu. */
  readonly view: UsageView;
  readonly menus: readonly UsageAnswer[];
  /** The steps to the first call; empty if there was one. */
  readonly firstSteps: readonly FirstStep[];
  /** The parts that could not be read. */
  readonly failed: readonly FailedPart[];
}

/** Reads the filters of an address that has nothing else, by the dimensions of the host. */
export function readNowView(
  dimensions: readonly UsageDimension[],
  parameters: URLSearchParams,
  base = "",
): UsageView {
  const defaults = { period: "today", compare: "none", bucket: "none" } as const;
  const isFilter = (key: string) => dimensions.includes(key.replace(/\.not$/, "") as UsageDimension);
  const filters = new URLSearchParams([...parameters].filter(([key]) => isFilter(key) || key === "form"));
  const view = readUsageView({ path: "/now", defaults }, filters, base);
  const others = [...new Set(parameters.keys())].filter(
    (key) => !isFilter(key) && key !== "form" && key !== "format",
  );
  return {
    ...view,
    notices: [
      ...view.notices,
      ...others.map((key) => `This page has no “${key.slice(0, 64)}”. It is left out.`),
    ],
  };
}

/** Renders the filters. What they do not apply to is stated. */
function renderFilters({ view, menus, calls, failed }: NowAnswer): Html {
  const all = filterMenusOf(view, menus);
  const rest = ["The coverage", "limits", "budgets", ...(calls === null ? [] : ["calls in flight"])];
  return html`${renderUsageNotices(view)}${renderUnreadOf(failed, "menus of filters")}${all.length === 0 ? "" : renderUsageMenus(view, all)}${renderUsageChips(view)}${
    view.query.filters.length === 0
      ? ""
      : html`<p class="quiet" data-summary>${rest.slice(0, -1).join(", ")} and ${rest.at(-1)} are those of all requests.</p>`
  }`;
}

/** The top of an empty chart: a tenth of a cent. */
const EMPTY_CEILING = PICO_USD_PER_USD / 1_000n;

/** Renders the calls in flight and the limits that they may reach. */
export function renderNow(answer: NowAnswer, place: PagePlace, budgets: Html | string = ""): Html {
  const { today, lastHour, calls, coverage, limits, latest, senders, firstSteps } = answer;
  const tile = (name: string, value: Html | string, note: Html | string) =>
    html`<div><dt>${name}</dt><dd class="value">${value}</dd><dd>${note}</dd></div>`;
  if (firstSteps.length > 0) return html`<div id="first" data-live>${renderFirstRun(firstSteps)}</div>`;
  const plan = (split: CostSplit) =>
    split.planUsagePicoUsd === 0n ? "" : html`, plan usage ${renderUsd(split.planUsagePicoUsd)}`;
  return html`${renderFilters(answer)}
    <dl class="figures" id="figures" data-live>
      ${tile("Spent today", renderUsd(today.split.spentPicoUsd), html`${formatQuantity(today.requests, "call")}${plan(today.split)}`)}
      ${tile("Last hour", renderUsd(lastHour.split.spentPicoUsd), html`${formatQuantity(lastHour.requests, "call")}${plan(lastHour.split)}`)}
      ${calls === null ? "" : tile("In flight", String(calls.length), calls[0] === undefined ? "no call is running" : `the longest for ${formatSpan(calls[0].runningMs)}`)}
      ${tile("Coverage today", renderCoverageValue(coverage, `${pageHref(place.base, "/coverage")}?period=today`), describeCoverageFigure(coverage))}
    </dl>
    <div id="limits" data-live>${limits === null ? renderUnread("limits") : limits.length === 0 ? "" : html`<section class="panel" aria-labelledby="limits-title"><div class="head"><h2 id="limits-title">Limits</h2><a href="${pageHref(place.base, "/limits")}">All limits</a></div>${renderLimitTable(limits, place)}</section>`}</div>
    ${budgets}
    <div id="running" data-live>${calls === null ? html`<p class="quiet" data-summary>Calls in flight are known only to their machines: <code>meter top</code></p>` : calls.length === 0 ? "" : renderCalls(calls)}</div>
    <section class="panel" aria-labelledby="hour-title"><div class="head"><h2 id="hour-title">Last 60 minutes</h2><span class="quiet">cost per minute</span></div><div id="minutes" data-live>${renderMinutes(answer, place)}</div></section>
    <section class="panel" aria-labelledby="latest-title"><div class="head"><h2 id="latest-title">Latest requests</h2><a href="${pageHref(place.base, "/requests")}">All requests</a></div><div id="latest" data-live>${latest.length === 0 ? html`<p class="quiet">No requests match these filters.</p>` : renderRequestTable({ label: "Latest requests", requests: latest, senders }, place)}</div></section>`;
}

const renderCalls = (calls: readonly RunningCall[]): Html =>
  html`<section class="panel" aria-labelledby="running-title"><div class="head"><h2 id="running-title">In flight</h2></div><div class="scroll"><table aria-label="Calls in flight">
    <thead><tr><th scope="col">Program</th><th scope="col">Model</th><th scope="col" class="desk">Provider</th><th scope="col" class="num">Running</th></tr></thead>
    <tbody>${calls.map(({ client, model, provider, runningMs }) => html`<tr><th scope="row" class="name">${renderName(client)}</th><td class="name">${renderName(model)}</td><td class="desk">${renderName(provider)}</td><td class="num">${formatSpan(runningMs)}</td></tr>`)}</tbody></table></div></section>`;

/** The parts of a cost with the colours that they have on all pages: blue, green, grey. */
export const COST_SERIES = [
  { part: "spentPicoUsd", name: "Spent", colour: 0 },
  { part: "planUsagePicoUsd", name: "Plan usage, at API prices", colour: 2 },
  { part: "unknownBillingPicoUsd", name: "Unknown billing", colour: 6 },
] as const satisfies readonly { part: keyof CostSplit; name: string; colour: number }[];

function renderMinutes({ minutes }: NowAnswer, { zone }: PagePlace): Html {
  const series = COST_SERIES.filter(
    ({ part }, n) => n === 0 || minutes.some(({ split }) => split[part] > 0n),
  );
  const bars: Bar[] = minutes.map(({ at, split }) => ({
    label: formatTimeOfDay(at, zone),
    values: series.map(({ part }) => split[part]),
  }));
  return renderBars({
    id: "minutes-chart",
    title: "Cost per minute",
    heading: `Minute (${zone})`,
    series,
    hasNoSum: true,
    bars,
    ceilingIfEmpty: EMPTY_CEILING,
    format: formatShortUsd,
    render: renderUsd,
  });
}
