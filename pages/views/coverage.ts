import { html } from "hono/html";
import { adviseOnCoverage } from "../../core/metering/coverage/coverage-advice.ts";
import type { CoverageGap, CoverageKind } from "../../core/metering/coverage/coverage-kinds.ts";
import {
  type CoverageSummary,
  describeCoverageCount,
} from "../../core/metering/coverage/coverage-summary.ts";
import type { RunningTime } from "../../core/metering/coverage/running-times.ts";
import { formatCount, UNKNOWN } from "../../core/values/text/format-count.ts";
import { formatQuantity } from "../../core/values/text/format-quantity.ts";
import { formatSpan } from "../figures.ts";
import { PERIOD_VALUES, renderViewNotices } from "../filters.ts";
import { formatPermille } from "../formats.ts";
import type { Html } from "../html.ts";
import { renderName } from "../names.ts";
import { type PageClock, renderTime } from "../times.ts";
import { renderCommand } from "../tools.ts";
import type { View, ViewSpec } from "../view.ts";

export const COVERAGE_VIEW: ViewSpec = {
  path: "/coverage",
  keys: { period: PERIOD_VALUES, from: [], to: [] },
  filters: [],
};

/** Something to do, with the command that does it. */
export interface CoverageTask {
  /** The program or host that it concerns. */
  readonly name: string;
  readonly text: string;
  readonly command: string | null;
}

/** Calls that were not metered, of a machine if there are several. */
export type CoverageRow = CoverageGap & { readonly machine?: string };

/** A time in which the meter did not run, on a machine if there are several. */
export type StoppedTime = RunningTime & { readonly machine?: string };

export interface CoverageAnswer {
  readonly summary: CoverageSummary;
  /** By call or machine, the latest first. */
  readonly gaps: readonly CoverageRow[];
  /** When the meter did not run, the latest first. */
  readonly stopped: readonly StoppedTime[];
  /** Programs that do not trust the certificate, and hosts that are not metered. */
  readonly tasks: readonly CoverageTask[];
  readonly periodWords: string;
  /** The state of delivery to a cloud, in words; null if there is none. */
  readonly cloud: { readonly state: string; readonly isBad: boolean; readonly sentence: string } | null;
}

/** The rows of each kind that are shown. `meter coverage` shows all. */
const MAX_ROWS = 10;

/** Renders how much was metered, what was missed, and what to do about it. */
export function renderCoverage(answer: CoverageAnswer, view: View, clock: PageClock): Html {
  const { summary, gaps, stopped, tasks, periodWords, cloud } = answer;
  const kinds = [...Map.groupBy(gaps, ({ kind }) => kind)];
  return html`${renderViewNotices(view)}
    <div id="coverage" data-live>
    ${renderFigures(summary, periodWords)}
    ${tasks.length === 0 ? "" : renderTasks(tasks)}
    ${stopped.length === 0 ? "" : renderStopped(stopped, clock)}
    ${kinds.length === 0 ? "" : html`<section class="panel" aria-labelledby="gaps-title"><div class="head"><h2 id="gaps-title">What was not metered, or only in part</h2></div>${kinds.map(([kind, rows]) => renderKind(kind, rows, clock))}</section>`}
    ${cloud === null ? "" : html`<section class="panel" aria-labelledby="cloud-title"><div class="head"><h2 id="cloud-title">Cloud</h2><span class="${cloud.isBad ? "bad" : "quiet"}">${cloud.state}</span></div><p class="quiet">${cloud.sentence}</p></section>`}
    </div>`;
}

function renderFigures(
  { permille, metered, seen, missing, withoutUsage }: CoverageSummary,
  words: string,
): Html {
  const isWhole = permille === 1000;
  const missed = seen - metered;
  return html`<p class="quiet" data-summary>${permille === null ? "No calls to providers" : `${formatCount(metered)} of ${formatCount(seen)} calls to providers were metered`}, ${words}</p>
  <dl class="figures">
    <div><dt>Coverage</dt><dd class="value ${permille === null ? "" : isWhole ? "good" : "warn"}">${permille === null ? UNKNOWN : formatPermille(permille)}</dd><dd>${permille === null ? "no calls" : isWhole ? "every call" : "not every call"}</dd></div>
    <div><dt>Metered</dt><dd class="value">${formatCount(metered)}</dd><dd>${withoutUsage === 0 ? "all with usage" : `${formatCount(withoutUsage)} ${describeCoverageCount("without_usage", withoutUsage)}`}</dd></div>
    <div><dt>Missed</dt><dd class="value">${formatCount(missed)}</dd><dd>${missing[0] === undefined ? "nothing was missed" : `mostly ${describeCoverageCount(mostOf(missing).kind, 2)}`}</dd></div>
  </dl>`;
}

const mostOf = (missing: CoverageSummary["missing"]) =>
  missing.reduce((most, each) => (each.count > most.count ? each : most));

const renderTasks = (tasks: readonly CoverageTask[]): Html =>
  html`<section class="panel" aria-labelledby="tasks-title"><div class="head"><h2 id="tasks-title">To do</h2></div>${tasks
    .slice(0, MAX_ROWS)
    .map(
      ({ name, text, command }) =>
        html`<h3>${renderName(name)}</h3><p class="quiet">${text}</p>${command === null ? "" : renderCommand(command)}`,
    )}${renderRest(tasks.length, "meter doctor")}</section>`;

function renderStopped(stopped: readonly StoppedTime[], clock: PageClock): Html {
  const totalMs = stopped.reduce((sum, { from, to }) => sum + (to - from), 0);
  return html`<section class="panel" aria-labelledby="stopped-title"><div class="head"><h2 id="stopped-title">When the meter was not running</h2><span class="quiet">${formatQuantity(stopped.length, "time")}, ${formatSpan(totalMs)} in all</span></div>
    <p class="quiet">It was stopped, or the machine was off or asleep. Calls in this time are in no count.</p>
    <div class="scroll"><table aria-label="Times without the meter">
      <thead><tr><th scope="col">From</th><th scope="col">To</th><th scope="col" class="num">Length</th></tr></thead>
      <tbody>${stopped.slice(0, MAX_ROWS).map(({ from, to, machine }) => html`<tr><th scope="row" class="name">${renderTime(from, clock, true)}${machine === undefined ? "" : html`<span class="sub">${renderName(machine)}</span>`}</th><td class="when">${renderTime(to, clock, true)}</td><td class="num">${formatSpan(to - from)}</td></tr>`)}</tbody>
    </table></div>${renderRest(stopped.length, "meter coverage")}</section>`;
}

function renderKind(kind: CoverageKind, rows: readonly CoverageRow[], clock: PageClock): Html {
  const count = rows.reduce((sum, row) => sum + row.count, 0);
  const title = `${formatCount(count)} ${describeCoverageCount(kind, count)}`;
  const advice = adviseOnCoverage(kind);
  return html`<details id="gap-${kind}" open><summary>${title}</summary>
    ${advice === null ? "" : html`<p class="quiet">${advice.meaning} ${advice.fix}${advice.command === null ? "" : html` <code>${advice.command}</code>`}</p>`}
    <div class="scroll"><table aria-label="${title}">
      <thead><tr><th scope="col">${rows.some(({ machine }) => machine !== undefined) ? "Machine" : "Call"}</th><th scope="col" class="num">Count</th><th scope="col" class="desk">Last seen</th></tr></thead>
      <tbody>${rows.slice(0, MAX_ROWS).map((row) => renderGap(row, clock))}</tbody>
    </table></div>${renderRest(rows.length, "meter coverage")}</details>`;
}

function renderGap({ host, call, count, lastSeenAt, machine }: CoverageRow, clock: PageClock): Html {
  const seen = renderTime(lastSeenAt, clock);
  return html`<tr><th scope="row" class="name">${call === null ? renderName(machine ?? host) : html`<bdi>${call.method} ${call.path}</bdi><span class="sub">${renderName(host)}</span>`}<span class="sub phone">${seen}</span></th><td class="num">${formatCount(count)}</td><td class="when desk">${seen}</td></tr>`;
}

const renderRest = (rows: number, command: string): Html | "" =>
  rows <= MAX_ROWS
    ? ""
    : html`<p class="quiet">${formatQuantity(rows - MAX_ROWS, "more row", "more rows")}: <code>${command}</code></p>`;
