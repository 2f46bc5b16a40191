import { html } from "hono/html";
import type { Banner } from "../../core/delivery/banner/status-banner.ts";
import { formatOrigins } from "../../core/metering/attribution/list-origins.ts";
import type { ProjectOrigin } from "../../core/metering/attribution/project-origin.ts";
import {
  type CoverageSummary,
  describeCoverageCount,
} from "../../core/metering/coverage/coverage-summary.ts";
import {
  addProviderCommand,
  describeAddedHost,
  describeUnlistedHost,
  type IsKnownHost,
  splitAddedHosts,
} from "../../core/metering/coverage/unlisted-hosts.ts";
import {
  type CostPart,
  type CostSplit,
  mapParts,
  NO_COST,
  shownParts,
} from "../../core/pricing/cost-split.ts";
import type { PriceFix } from "../../core/pricing/price-fix.ts";
import { isUnpriced } from "../../core/pricing/unpriced.ts";
import { effectiveBilling } from "../../core/values/billing.ts";
import type { RequestRecord } from "../../core/values/record.ts";
import { formatCount, UNKNOWN } from "../../core/values/text/format-count.ts";
import { formatDuration } from "../../core/values/text/format-duration.ts";
import { formatQuantity } from "../../core/values/text/format-quantity.ts";
import type { Millis } from "../../core/values/time.ts";
import { type ChartDay, renderCostChart } from "../../pages/cost-chart.ts";
import { formatPermille, formatShortCount, formatShortUsd } from "../../pages/formats.ts";
import type { Html } from "../../pages/html.ts";
import { type CloudBanner, type DaemonStatus, findDaemonFault } from "../api/daemon-status.ts";
import type { LimitView } from "../limits/limit-views.ts";
import { dayOf } from "../store/days.ts";
import { countPart, formatRowCost } from "../store/format-row-cost.ts";
import type { ReportRow, SourceShare, Statistics } from "../store/port/reports.ts";
import { toTokenSums, totalInput, totalOutput } from "../store/token-sums.ts";
import { type CoverageGaps, renderCoverageGaps } from "./coverage-gaps.ts";
import { renderLayout } from "./layout.ts";
import { renderLimitsPanel } from "./limits-panel.ts";
import { renderPriceFix } from "./price-fix.ts";
import { renderTime } from "./render-time.ts";

/** The periods that the page offers, in days. Each includes today. */
export const PAGE_RANGES = [7, 30, 90, 365] as const;

/** The data that the page shows, read at one moment. */
export interface LocalPageData {
  readonly status: DaemonStatus;
  readonly rangeDays: number;
  readonly from: Millis;
  readonly to: Millis;
  readonly statistics: Statistics;
  /** The part of the period that was imported from logs of agents. */
  readonly fromLogs: SourceShare;
  /** Newest first. */
  readonly recent: readonly RequestRecord[];
  readonly coverage: CoverageSummary;
  readonly isKnownHost: IsKnownHost;
  /** The origins of projects whose names do not tell them apart. */
  readonly origins: ReadonlyMap<string, readonly ProjectOrigin[]>;
  readonly gaps: CoverageGaps;
  /** The windows of an hour or more. */
  readonly limits: readonly LimitView[];
  readonly cloud: CloudBanner;
  /** How the models of unpriced requests get a price. */
  readonly priceFixes: readonly PriceFix[];
}

/** Groups listed one by one. The rest share one line. */
const MAX_GROUPS = 10;

const bannerLabels: Record<Banner, string> = {
  ACTIVE: "Cloud sync is active",
  DEGRADED: "Cloud sync is degraded",
  PAUSED: "Cloud sync is paused",
  "NOT-CONFIGURED": "Not connected to a cloud",
};

/** Renders the local page. */
export function renderLocalPage(facts: LocalPageData): Html {
  const { status } = facts;
  return renderLayout(
    "meter",
    html`<h1><a href="/">meter</a></h1>
      <span id="state" data-live>${renderState(status)}</span>
      <span class="where">proxy on port ${status.proxy.port}</span>
      <span class="live" id="live" role="status"></span>`,
    html`<div id="notices" data-live>${renderNotices(facts)}${facts.recent.length === 0 ? renderEmptyState(status) : ""}</div>
      <dl class="tiles" id="tiles" data-live>${renderTiles(facts)}</dl>
      <div id="limits" data-live>${renderLimitsPanel(facts.limits)}</div>
      <section class="panel" aria-labelledby="chart-title">
        <div class="head"><h2 id="chart-title">Cost per day</h2>${renderPeriodLinks(facts.rangeDays)}</div>
        <div id="chart" data-live>${renderCostChart(chartDays(facts))}${renderLogShare(facts)}</div>
      </section>
      <div class="pair" id="groups" data-live>
        ${renderGroups("Projects", "Project", facts.statistics.projects, facts.statistics.total, facts.origins)}
        ${renderGroups("Models", "Model", facts.statistics.models, facts.statistics.total)}
      </div>
      <section class="panel" aria-labelledby="recent-title">
        <div class="head"><h2 id="recent-title">Latest requests</h2></div>
        <div id="recent" data-live>${renderRecentTable(facts.recent)}</div>
      </section>
      <div class="pair" id="below" data-live>${renderCoverageCard(facts.coverage, facts.isKnownHost)}${renderCloudCard(facts.cloud)}</div>
      <div id="gaps" data-live>${renderCoverageGaps(facts.gaps)}</div>`,
    html`<p>meter ${status.version}, running since ${renderTime(Date.parse(status.started_at), true)}. This page covers only this machine.</p>`,
  );
}

/** Says how much was imported from logs. Without such requests, everything is from the wire. */
function renderLogShare({ fromLogs, statistics: { total } }: LocalPageData): Html | "" {
  return fromLogs.requests === 0
    ? ""
    : html`<p class="quiet">From logs: ${formatCount(fromLogs.requests)} of ${formatQuantity(total.requests, "request")}, ${formatShortUsd(fromLogs.costPicoUsd)} of the cost. The rest is from the wire.</p>`;
}

function renderState(status: DaemonStatus): Html {
  const trouble = findDaemonFault(status);
  if (trouble === null) return html`<span class="state">Metering</span>`;
  return html`<span class="state bad">${trouble === "proxy" ? "The proxy does not answer" : "Calls pass through but are not stored"}</span>`;
}

function renderNotices({ status, statistics: { total }, priceFixes }: LocalPageData): Html {
  const { lastError, dropped } = status.store;
  const lost = Object.values(dropped).reduce((sum, n) => sum + (n ?? 0), 0);
  const bad = [
    ...(status.store.capturing === "failing" && lastError !== null
      ? [`Records can't be stored: ${lastError.message}`]
      : []),
    ...(lost > 0
      ? [`${formatQuantity(lost, "record has", "records have")} been lost since the daemon started.`]
      : []),
  ];
  const warnings = [
    ...(total.unpriced > 0
      ? [
          `${formatQuantity(total.unpriced, "request has", "requests have")} no known price; ${total.unpriced === 1 ? "its cost is" : "their cost is"} not included.`,
        ]
      : []),
    ...(status.store.set_aside === null
      ? []
      : [`A damaged database was moved to ${status.store.set_aside}.`]),
    ...status.warnings,
  ];
  const list = (kind: string, lines: readonly string[]) =>
    lines.length === 0
      ? ""
      : html`<div class="notice ${kind}" role="${kind === "bad" ? "alert" : "note"}">${lines.length === 1 ? lines[0] : html`<ul class="plain">${lines.map((line) => html`<li>${line}</li>`)}</ul>`}</div>`;
  const fixes =
    priceFixes.length === 0
      ? ""
      : html`<div class="notice warn" role="note">${priceFixes.map(renderPriceFix)}</div>`;
  return html`${list("bad", bad)}${list("warn", warnings)}${fixes}`;
}

function renderEmptyState(status: DaemonStatus): Html {
  return html`<section class="panel" aria-labelledby="empty-title">
    <h2 id="empty-title">Nothing metered yet</h2>
    <p>Run a program through meter. Its calls to language models appear here when they finish:</p>
    <pre tabindex="0">meter run -- claude
meter run -- node my-program.js</pre>
    <p class="quiet">Or set the proxy for a program yourself: <code>HTTPS_PROXY=http://127.0.0.1:${status.proxy.port}</code></p>
  </section>`;
}

/** What the tile of each part says. */
const PART_NOTES: Readonly<Record<keyof CostSplit, string>> = {
  spentPicoUsd: "",
  planUsagePicoUsd: "covered by plans; the value at API prices",
  unknownBillingPicoUsd: "billed by usage or covered by a plan",
};

function renderTiles({ statistics, from, to, coverage }: LocalPageData): Html {
  const { total, days } = statistics;
  const today = days.find((day) => day.key === dayOf(to - 1, "local").date);
  const [input, output] = [totalInput(total.tokens), totalOutput(total.tokens)];
  const tile = (name: string, value: string, note: string, exact = value) =>
    html`<div><dt>${name}</dt><dd class="value" title="${exact}">${value}</dd><dd class="note">${note}</dd></div>`;
  const estimated = total.bySource.estimated;
  const parts = shownParts((part) => countPart(total, part) > 0).slice(1);
  return html`${tile(
    "Spent",
    formatShortUsd(total.split.spentPicoUsd),
    `${formatShortUsd(today?.split.spentPicoUsd ?? 0n)} today${estimated.requests > 0 ? `, ${formatShortUsd(estimated.costPicoUsd)} of the total estimated` : ""}`,
  )}${parts.map(({ part, label }) => tile(label, formatShortUsd(total.split[part]), PART_NOTES[part]))}${tile(
    "Requests",
    formatShortCount(total.requests),
    total.errors === 0 ? `none failed since ${formatDate(from)}` : `${formatCount(total.errors)} failed`,
    formatCount(total.requests),
  )}${tile(
    "Tokens",
    formatShortCount(input === null && output === null ? null : (input ?? 0n) + (output ?? 0n)),
    input === null && output === null
      ? "no counts reported"
      : `${formatShortCount(input ?? 0n)} in (${formatShortCount(total.tokens.cacheRead ?? 0n)} from caches), ${formatShortCount(output ?? 0n)} out`,
    `${formatCount(input)} in, ${formatCount(output)} out`,
  )}${tile(
    "Coverage",
    coverage.permille === null ? UNKNOWN : formatPermille(coverage.permille),
    coverage.permille === null
      ? "no calls to providers"
      : `${formatCount(coverage.metered)} of ${formatCount(coverage.seen)} calls to providers were metered`,
  )}`;
}

function renderPeriodLinks(current: number): Html {
  return html`<nav aria-label="Period"><ul>${PAGE_RANGES.map(
    (days) =>
      html`<li><a href="/?days=${days}"${days === current ? html` aria-current="page"` : ""}>${days === 365 ? "1 year" : `${days} days`}</a></li>`,
  )}</ul></nav>`;
}

/** Lists every day of the period, including days without requests. */
function chartDays({ statistics, from, to }: LocalPageData): ChartDay[] {
  const known = new Map(statistics.days.map((row) => [row.key, row]));
  const days: ChartDay[] = [];
  for (let day = dayOf(from, "local"); day.from < to; day = dayOf(day.to, "local")) {
    const row = known.get(day.date);
    const texts = mapParts(({ part }) =>
      row === undefined ? formatShortUsd(0n) : formatRowCost(row, part, formatShortUsd),
    );
    days.push({ date: day.date, requests: row?.requests ?? 0, split: row?.split ?? NO_COST, texts });
  }
  return days;
}

function renderGroups(
  title: string,
  head: string,
  rows: readonly ReportRow[],
  total: ReportRow,
  origins: LocalPageData["origins"] = new Map(),
): Html {
  const origin = (key: string | null) => {
    const places = origins.get(key ?? "");
    return places === undefined ? "" : html`<br><bdi class="quiet">${formatOrigins(places, null)}</bdi>`;
  };
  const shown = rows.slice(0, MAX_GROUPS);
  const rest = rows.slice(MAX_GROUPS);
  const parts = shownParts((part) => countPart(total, part) > 0);
  // The share is of what was spent, or of the first other part if nothing was spent.
  const { part: shared, label } = parts.find(({ part }) => total.split[part] > 0n) ?? (parts[0] as CostPart);
  const share = (row: ReportRow) => {
    const whole = total.split[shared];
    const part = whole === 0n ? 0 : Number((row.split[shared] * 1_000n) / whole) / 10;
    return html`<svg viewBox="0 0 100 8" preserveAspectRatio="none" role="img" aria-label="${label}: ${part}% of the total"><rect class="rest" width="100" height="8" /><rect class="part" width="${part}" height="8" /></svg>`;
  };
  const restCost = (part: keyof CostSplit) => rest.reduce((sum, { split }) => sum + split[part], 0n);
  const restRequests = rest.reduce((sum, { requests }) => sum + requests, 0);
  const id = title.toLowerCase();
  return html`<section class="panel" aria-labelledby="${id}-title">
    <div class="head"><h2 id="${id}-title">${title}</h2></div>
    ${
      rows.length === 0
        ? html`<p class="quiet">None in this period.</p>`
        : html`<div class="scroll"><table aria-labelledby="${id}-title">
      <thead><tr><th scope="col">${head}</th><th scope="col" class="wide">Share</th><th scope="col" class="number">Requests</th>${parts.map((each) => html`<th scope="col" class="number">${each.label}</th>`)}</tr></thead>
      <tbody>${shown.map(
        (row) =>
          html`<tr><th scope="row" class="name"><bdi>${row.key ?? ""}</bdi>${origin(row.key)}</th><td class="share wide">${share(row)}</td><td class="number">${formatCount(row.requests)}</td>${parts.map(({ part }) => html`<td class="number">${formatRowCost(row, part, formatShortUsd)}</td>`)}</tr>`,
      )}${
        rest.length === 0
          ? ""
          : html`<tr><th scope="row" class="quiet">${formatQuantity(rest.length, "other", "others")}</th><td class="wide"></td><td class="number">${formatCount(restRequests)}</td>${parts.map(({ part }) => html`<td class="number">${formatShortUsd(restCost(part))}</td>`)}</tr>`
      }</tbody>
    </table></div>`
    }
  </section>`;
}

/** Renders the outcome of a request: the HTTP status, or the error class. */
export function renderOutcome({ blockedBy, errorClass, httpStatus }: RequestRecord): Html {
  if (blockedBy !== null) return html`<span class="failed">blocked: ${blockedBy}</span>`;
  if (errorClass === null) return html`${httpStatus ?? "ok"}`;
  return html`<span class="failed">${httpStatus ?? ""} ${errorClass.replaceAll("_", " ")}</span>`;
}

const isFromLogs = ({ recordSource }: RequestRecord) => recordSource === "logs";

function renderRecentTable(recent: readonly RequestRecord[]): Html {
  if (recent.length === 0) return html`<p class="quiet">None yet.</p>`;
  return html`<div class="scroll"><table aria-labelledby="recent-title">
    <thead><tr><th scope="col">When</th><th scope="col" class="wide">Project</th><th scope="col">Model</th><th scope="col" class="wide">Program</th><th scope="col" class="number wide">In</th><th scope="col" class="number wide">Out</th><th scope="col" class="number">Cost</th><th scope="col" class="number wide">Duration</th><th scope="col" class="wide">Status</th></tr></thead>
    <tbody>${recent.map((request) => {
      const tokens = toTokenSums(request.tokens);
      return html`<tr id="r-${request.requestId}"><th scope="row" class="when"><a href="/requests/${request.requestId}">${renderTime(request.requestedAt)}</a></th><td class="name wide"><bdi>${request.project}</bdi></td><td class="name"><bdi>${request.model}</bdi><span class="narrow quiet"><bdi>${request.project}</bdi></span></td><td class="wide"><bdi>${request.client ?? UNKNOWN}</bdi></td><td class="number wide" title="${formatCount(totalInput(tokens))}">${formatShortCount(totalInput(tokens))}</td><td class="number wide" title="${formatCount(totalOutput(tokens))}">${formatShortCount(totalOutput(tokens))}</td><td class="number">${isUnpriced(request) ? "unpriced" : formatShortUsd(request.costPicoUsd)}${effectiveBilling(request) === "plan" ? html` <span class="quiet">plan</span>` : ""}</td><td class="number wide">${isFromLogs(request) ? "–" : formatDuration(request.latencyMs)}</td><td class="wide">${isFromLogs(request) ? "from logs" : renderOutcome(request)}</td></tr>`;
    })}</tbody>
  </table></div>`;
}

/** How many unlisted hosts the card names. */
const MAX_UNLISTED = 3;

function renderCoverageCard(summary: CoverageSummary, isKnownHost: IsKnownHost): Html {
  const { permille, metered, seen, missing, withoutUsage } = summary;
  const { unlisted, added } = splitAddedHosts(summary.unlisted, isKnownHost);
  const lines = [
    ...missing.map(
      ({ kind, count }) => `Not metered: ${formatCount(count)} ${describeCoverageCount(kind, count)}`,
    ),
    ...(withoutUsage > 0
      ? [
          `Of those metered: ${formatCount(withoutUsage)} ${describeCoverageCount("without_usage", withoutUsage)}`,
        ]
      : []),
  ];
  return html`<section class="panel" aria-labelledby="coverage-title">
    <h2 id="coverage-title">Metering coverage</h2>
    ${
      permille === null
        ? html`<p class="quiet">There were no calls to providers in this period.</p>`
        : html`<p>${formatCount(metered)} of ${formatCount(seen)} calls to providers were metered: ${formatPermille(permille)}.</p>${
            lines.length === 0
              ? html`<p class="quiet">Nothing was missed.</p>`
              : html`<ul class="plain">${lines.map((line) => html`<li>${line}</li>`)}</ul>`
          }`
    }${
      unlisted.length + added.length === 0
        ? ""
        : html`<ul class="plain">${added.slice(0, MAX_UNLISTED).map((host) => html`<li>${describeAddedHost(host)}</li>`)}${unlisted.slice(0, MAX_UNLISTED).map((host) => html`<li>${describeUnlistedHost(host)} Meter it: <code>${addProviderCommand(host)}</code></li>`)}</ul>`
    }
  </section>`;
}

function renderCloudCard({ banner, sentence }: CloudBanner): Html {
  const bad = banner === "PAUSED" || banner === "DEGRADED";
  return html`<section class="panel" aria-labelledby="cloud-title">
    <h2 id="cloud-title">Cloud</h2>
    <p><span class="${banner === "ACTIVE" ? "state" : bad ? "state bad" : "quiet"}">${bannerLabels[banner]}</span></p>
    <p class="quiet">${sentence}</p>
  </section>`;
}

const formatDate = (at: Millis): string =>
  new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" }).format(at);
