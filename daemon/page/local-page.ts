import { html } from "hono/html";
import type { Banner } from "../../core/banner/mod.ts";
import type { Millis } from "../../core/time.ts";
import { type CoverageSummary, unmeteredWords } from "../api/coverage-summary.ts";
import { type CloudBanner, type DaemonStatus, troubleOf } from "../daemon-status.ts";
import { dayOf, type ReportRow, type Statistics, type StoredRequest } from "../store/mod.ts";
import { type ChartDay, costChart } from "./cost-chart.ts";
import {
  duration,
  fullCount,
  inputOf,
  outputOf,
  percent,
  plural,
  shortCount,
  shortUsd,
  tokenSums,
  UNKNOWN,
} from "./formats.ts";
import { type Html, layout } from "./layout.ts";

/** The periods that the page offers, in days, today included. */
export const PAGE_RANGES = [7, 30, 90, 365] as const;

/** Everything that the page shows, read at one time. */
export interface PageFacts {
  readonly status: DaemonStatus;
  readonly rangeDays: number;
  readonly from: Millis;
  readonly to: Millis;
  readonly statistics: Statistics;
  /** The last to arrive first. */
  readonly recent: readonly StoredRequest[];
  readonly coverage: CoverageSummary;
  readonly cloud: CloudBanner;
}

/** Lines that a list of groups shows; the rest are one line. */
const MAX_GROUPS = 10;

const words: Record<Banner, string> = {
  ACTIVE: "Cloud sync is active",
  DEGRADED: "Cloud sync is degraded",
  PAUSED: "Cloud sync is paused",
  "NOT-CONFIGURED": "Not connected to a cloud",
};

/** The whole page. */
export function localPage(facts: PageFacts): Html {
  const { status } = facts;
  return layout(
    "meter",
    html`<h1><a href="/">meter</a></h1>
      <span id="state" data-live>${stateOf(status)}</span>
      <span class="where">proxy on port ${status.proxy.port}</span>
      <span class="live" id="live" role="status"></span>`,
    html`<div id="notices" data-live>${notices(facts)}${facts.recent.length === 0 ? emptyCard(status) : ""}</div>
      <dl class="tiles" id="tiles" data-live>${tiles(facts)}</dl>
      <section class="card" aria-labelledby="chart-title">
        <div class="head"><h2 id="chart-title">Cost per day</h2>${ranges(facts.rangeDays)}</div>
        <div id="chart" data-live>${costChart(chartDays(facts))}</div>
      </section>
      <div class="columns" id="groups" data-live>
        ${groups("Projects", "Project", facts.statistics.projects, facts.statistics.total)}
        ${groups("Models", "Model", facts.statistics.models, facts.statistics.total)}
      </div>
      <section class="card" aria-labelledby="recent-title">
        <div class="head"><h2 id="recent-title">Latest requests</h2></div>
        <div id="recent" data-live>${recentTable(facts.recent)}</div>
      </section>
      <div class="columns" id="below" data-live>${coverageCard(facts.coverage)}${cloudCard(facts.cloud)}</div>`,
    html`<p>meter ${status.version}, running since ${timeOf(Date.parse(status.started_at), true)}. Everything on this page is from this machine alone.</p>`,
  );
}

function stateOf(status: DaemonStatus): Html {
  const trouble = troubleOf(status);
  if (trouble === null) return html`<span class="state">Metering</span>`;
  return html`<span class="state bad">${trouble === "proxy" ? "The proxy does not answer" : "Calls pass, but are not stored"}</span>`;
}

function notices({ status, statistics: { total } }: PageFacts): Html {
  const { lastError, dropped } = status.store;
  const lost = Object.values(dropped).reduce((sum, n) => sum + (n ?? 0), 0);
  const bad = [
    ...(status.store.capturing === "failing" && lastError !== null
      ? [`What is metered can't be stored: ${lastError.message}`]
      : []),
    ...(lost > 0 ? [`${plural(lost, "record was", "records were")} lost since the start.`] : []),
  ];
  const warnings = [
    ...(total.unpriced > 0
      ? [
          `${plural(total.unpriced, "request has", "requests have")} no known price and ${total.unpriced === 1 ? "is" : "are"} not in the cost.`,
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
  return html`${list("bad", bad)}${list("warn", warnings)}`;
}

function emptyCard(status: DaemonStatus): Html {
  return html`<section class="card" aria-labelledby="empty-title">
    <h2 id="empty-title">Nothing metered yet</h2>
    <p>Run a program through the meter, and its calls to language models show up here as they end:</p>
    <pre tabindex="0">meter run -- claude
meter run -- node my-program.js</pre>
    <p class="soft">Or point a program at the proxy yourself: <code>HTTPS_PROXY=http://127.0.0.1:${status.proxy.port}</code></p>
  </section>`;
}

function tiles({ statistics, from, to, coverage }: PageFacts): Html {
  const { total, days } = statistics;
  const today = days.find((day) => day.key === dayOf(to - 1, "local").date);
  const [input, output] = [inputOf(total.tokens), outputOf(total.tokens)];
  const tile = (name: string, value: string, note: string, exact = value) =>
    html`<div class="tile"><dt>${name}</dt><dd class="value" title="${exact}">${value}</dd><dd class="note">${note}</dd></div>`;
  const estimated = total.bySource.estimated;
  return html`${tile(
    "Cost",
    shortUsd(total.costPicoUsd),
    `${shortUsd(today?.costPicoUsd ?? 0n)} today${estimated.requests > 0 ? `, ${shortUsd(estimated.costPicoUsd)} of it all estimated` : ""}`,
  )}${tile(
    "Requests",
    shortCount(total.requests),
    total.errors === 0 ? `none failed since ${dateOf(from)}` : `${fullCount(total.errors)} of them failed`,
    fullCount(total.requests),
  )}${tile(
    "Tokens",
    shortCount(input === null && output === null ? null : (input ?? 0n) + (output ?? 0n)),
    input === null && output === null
      ? "none stated"
      : `${shortCount(input ?? 0n)} in, ${shortCount(total.tokens.cacheRead ?? 0n)} of them from caches; ${shortCount(output ?? 0n)} out`,
    `${fullCount(input)} in, ${fullCount(output)} out`,
  )}${tile(
    "Coverage",
    coverage.permille === null ? UNKNOWN : percent(coverage.permille),
    coverage.permille === null
      ? "nothing seen on providers' hosts"
      : `${fullCount(coverage.metered)} of ${fullCount(coverage.seen)} calls seen were metered`,
  )}`;
}

function ranges(current: number): Html {
  return html`<nav aria-label="Period"><ul>${PAGE_RANGES.map(
    (days) =>
      html`<li><a href="/?days=${days}"${days === current ? html` aria-current="page"` : ""}>${days === 365 ? "1 year" : `${days} days`}</a></li>`,
  )}</ul></nav>`;
}

/** Every day of the period, also those without requests. */
function chartDays({ statistics, from, to }: PageFacts): ChartDay[] {
  const known = new Map(statistics.days.map((row) => [row.key, row]));
  const days: ChartDay[] = [];
  for (let day = dayOf(from, "local"); day.from < to; day = dayOf(day.to, "local")) {
    const row = known.get(day.date);
    days.push({ date: day.date, requests: row?.requests ?? 0, costPicoUsd: row?.costPicoUsd ?? 0n });
  }
  return days;
}

/** What nothing was stated for has no cost to show: unknown, or nothing used. */
const costOf = (row: ReportRow): string =>
  row.bySource.unpriced.requests < row.requests
    ? shortUsd(row.costPicoUsd)
    : row.unpriced > 0
      ? "unpriced"
      : UNKNOWN;

function groups(title: string, head: string, rows: readonly ReportRow[], total: ReportRow): Html {
  const shown = rows.slice(0, MAX_GROUPS);
  const rest = rows.slice(MAX_GROUPS);
  const share = (row: ReportRow) => {
    const part = total.costPicoUsd === 0n ? 0 : Number((row.costPicoUsd * 1_000n) / total.costPicoUsd) / 10;
    return html`<svg viewBox="0 0 100 8" preserveAspectRatio="none" role="img" aria-label="${part}% of the cost"><rect class="rest" width="100" height="8" /><rect class="part" width="${part}" height="8" /></svg>`;
  };
  const restCost = rest.reduce((sum, { costPicoUsd }) => sum + costPicoUsd, 0n);
  const restRequests = rest.reduce((sum, { requests }) => sum + requests, 0);
  const id = title.toLowerCase();
  return html`<section class="card" aria-labelledby="${id}-title">
    <div class="head"><h2 id="${id}-title">${title}</h2></div>
    ${
      rows.length === 0
        ? html`<p class="soft">None in this period.</p>`
        : html`<div class="scroll"><table aria-labelledby="${id}-title">
      <thead><tr><th scope="col">${head}</th><th scope="col" class="wide">Share</th><th scope="col" class="number">Requests</th><th scope="col" class="number">Cost</th></tr></thead>
      <tbody>${shown.map(
        (row) =>
          html`<tr><th scope="row" class="name"><bdi>${row.key ?? ""}</bdi></th><td class="share wide">${share(row)}</td><td class="number">${fullCount(row.requests)}</td><td class="number">${costOf(row)}</td></tr>`,
      )}${
        rest.length === 0
          ? ""
          : html`<tr><th scope="row" class="soft">${plural(rest.length, "other", "others")}</th><td class="wide"></td><td class="number">${fullCount(restRequests)}</td><td class="number">${shortUsd(restCost)}</td></tr>`
      }</tbody>
    </table></div>`
    }
  </section>`;
}

/** The answer in a word: the status, or what went wrong. */
export function answerOf({ errorClass, httpStatus }: StoredRequest): Html {
  if (errorClass === null) return html`${httpStatus ?? "ok"}`;
  return html`<span class="failed">${httpStatus ?? ""} ${errorClass.replaceAll("_", " ")}</span>`;
}

function recentTable(recent: readonly StoredRequest[]): Html {
  if (recent.length === 0) return html`<p class="soft">None yet.</p>`;
  return html`<div class="scroll"><table aria-labelledby="recent-title">
    <thead><tr><th scope="col">When</th><th scope="col" class="wide">Project</th><th scope="col">Model</th><th scope="col" class="wide">Program</th><th scope="col" class="number wide">In</th><th scope="col" class="number wide">Out</th><th scope="col" class="number">Cost</th><th scope="col" class="number wide">Took</th><th scope="col" class="wide">Answer</th></tr></thead>
    <tbody>${recent.map((request) => {
      const tokens = tokenSums(request.tokens);
      return html`<tr id="r-${request.requestId}"><th scope="row" class="when"><a href="/requests/${request.requestId}">${timeOf(request.requestedAt)}</a></th><td class="name wide"><bdi>${request.project}</bdi></td><td class="name"><bdi>${request.model}</bdi><span class="narrow soft"><bdi>${request.project}</bdi></span></td><td class="wide"><bdi>${request.client ?? UNKNOWN}</bdi></td><td class="number wide" title="${fullCount(inputOf(tokens))}">${shortCount(inputOf(tokens))}</td><td class="number wide" title="${fullCount(outputOf(tokens))}">${shortCount(outputOf(tokens))}</td><td class="number">${request.costPicoUsd === null && request.errorClass === null ? "unpriced" : shortUsd(request.costPicoUsd)}</td><td class="number wide">${duration(request.latencyMs)}</td><td class="wide">${answerOf(request)}</td></tr>`;
    })}</tbody>
  </table></div>`;
}

function coverageCard({ permille, metered, seen, missing, withoutUsage }: CoverageSummary): Html {
  const lines = [
    ...missing.map(({ kind, count }) => `Not metered: ${fullCount(count)} ${unmeteredWords(kind, count)}`),
    ...(withoutUsage > 0
      ? [`Of those metered: ${fullCount(withoutUsage)} ${unmeteredWords("without_usage", withoutUsage)}`]
      : []),
  ];
  return html`<section class="card" aria-labelledby="coverage-title">
    <h2 id="coverage-title">Metering coverage</h2>
    ${
      permille === null
        ? html`<p class="soft">No calls to providers were seen in this period.</p>`
        : html`<p>${fullCount(metered)} of ${fullCount(seen)} calls seen on providers' hosts were metered: ${percent(permille)}.</p>${
            lines.length === 0
              ? html`<p class="soft">Nothing was missed.</p>`
              : html`<ul class="plain">${lines.map((line) => html`<li>${line}</li>`)}</ul>`
          }`
    }
  </section>`;
}

function cloudCard({ banner, sentence }: CloudBanner): Html {
  const bad = banner === "PAUSED" || banner === "DEGRADED";
  return html`<section class="card" aria-labelledby="cloud-title">
    <h2 id="cloud-title">Cloud</h2>
    <p><span class="${banner === "ACTIVE" ? "state" : bad ? "state bad" : "soft"}">${words[banner]}</span></p>
    <p class="soft">${sentence}</p>
  </section>`;
}

const dateOf = (at: Millis): string =>
  new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" }).format(at);

/** A time in this machine's zone; the day is left out where it is today's. */
export function timeOf(at: Millis, withDay = false): Html {
  const date = new Date(at);
  const isToday = !withDay && date.toDateString() === new Date().toDateString();
  const text = new Intl.DateTimeFormat("en-GB", {
    ...(!isToday && { day: "numeric", month: "short" }),
    hour: "2-digit",
    minute: "2-digit",
    second: "2-digit",
  }).format(at);
  return html`<time datetime="${date.toISOString()}">${text}</time>`;
}
