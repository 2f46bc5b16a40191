import { html } from "hono/html";
import { adviseOnCoverage, coverageGapKinds } from "../../core/metering/coverage/coverage-advice.ts";
import {
  EXPECTED_KIND,
  isCoverageKind,
  readValueFilter,
  selectKinds,
} from "../../core/metering/coverage/coverage-filter.ts";
import type { CoverageGap, CoverageKind } from "../../core/metering/coverage/coverage-kinds.ts";
import {
  type CoverageSummary,
  describeCoverageCount,
} from "../../core/metering/coverage/coverage-summary.ts";
import type { CoverageState } from "../../core/metering/coverage/fleet-coverage.ts";
import type { RunningTime } from "../../core/metering/coverage/running-times.ts";
import { formatCount, UNKNOWN } from "../../core/values/text/format-count.ts";
import { formatQuantity } from "../../core/values/text/format-quantity.ts";
import type { Millis } from "../../core/values/time.ts";
import { type Bar, renderBars } from "../chart/bars.ts";
import { describeGap } from "../coverage-figure.ts";
import { filterName } from "../dimension-names.ts";
import { formatSpan } from "../figures.ts";
import { readFormParameters, renderKept, renderSelect } from "../filter-form.ts";
import { type NameOfValue, PERIOD_VALUES, renderChips, renderViewNotices } from "../filters.ts";
import { formatPermille, formatShortCount, shortenDate } from "../formats.ts";
import type { Html } from "../html.ts";
import { renderName } from "../names.ts";
import { type FailedPart, type PartName, renderUnread, renderUnreadOf } from "../page-parts.ts";
import { pageHref } from "../page-place.ts";
import { type PageClock, renderTime } from "../times.ts";
import { renderCommand } from "../tools.ts";
import { readView, type View, type ViewSpec, viewHref, viewParameters } from "../view.ts";

/** A page of coverage, with the filters that its host has. */
export const coverageSpec = (filters: readonly string[]): ViewSpec => ({
  path: "/coverage",
  keys: { period: PERIOD_VALUES, from: [], to: [] },
  filters,
  areUsage: true,
});

/** The page without filters: those of other pages have other values. */
export const COVERAGE_VIEW = coverageSpec([]);

/** The page of a workspace, which does not receive the hosts. */
export const WORKSPACE_COVERAGE = coverageSpec(["machine", "kind"]);

/** Reads the page's state from the parameters of an address. A kind that is not known is left out and named in a notice. */
export function readCoverageView(spec: ViewSpec, parameters: URLSearchParams, base = ""): View {
  const view = readView(spec, readFormParameters(parameters), base);
  const filters = view.filters.filter(({ name, value }) => name !== "kind" || isCoverageKind(value));
  if (filters.length === view.filters.length) return view;
  return { ...view, filters, notices: [...view.notices, `“kind” is left out. ${EXPECTED_KIND}`] };
}

/** Whether the calls of a kind can be selected: those that were metered, or missed. */
export const isFilterKind = (kind: CoverageKind): boolean =>
  kind === "metered" || coverageGapKinds.includes(kind);

/** Names a kind without a number before it. */
const nameKind = (kind: string): string =>
  kind === "metered" ? "metered calls" : describeCoverageCount(kind as CoverageKind, 2);

/** Something to do, with the command that does it. */
export interface CoverageTask {
  /** The program or host that it concerns. */
  readonly name: string;
  readonly text: string;
  readonly command: string | null;
}

/** Calls that were not metered, of a machine if there are several. */
export type CoverageRow = CoverageGap & { readonly machine?: string };

/** The rows of a kind. */
export interface GapSums {
  readonly rows: number;
  readonly count: number;
}

/** A time in which the meter did not run, on a machine if there are several. */
export type StoppedTime = RunningTime & { readonly machine?: string };

/** The coverage of one of several machines. */
export interface MachineLine {
  readonly name: string;
  /** `stale`: not known until the end of the period; `unknown`: not known at all. */
  readonly state: CoverageState;
  readonly permille: number | null;
  readonly metered: number;
  readonly seen: number;
  /** The end of the machine's last report; null if it never reported. */
  readonly reportedAt: Millis | null;
}

/** The calls of a part of the period. */
export interface CoverageBucket {
  readonly from: Millis;
  readonly to: Millis;
  readonly label: string;
  readonly metered: number;
  readonly seen: number;
  /** For how long no meter ran, in milliseconds; null if it is not known. */
  readonly stoppedMs: number | null;
}

export interface CoverageAnswer {
  readonly summary: CoverageSummary;
  /** The calls by time. They add up to those of the summary. */
  readonly buckets: readonly CoverageBucket[];
  /** The machines, if there are several: those to look at first. */
  readonly machines?: readonly MachineLine[];
  /** How many machines are left out, and the address of the list of all. */
  readonly moreMachines?: { readonly count: number; readonly href: string };
  /** How many of them have requests whose coverage is not known. */
  readonly unknownMachines?: number;
  /** By call or machine, the latest first. */
  readonly gaps: readonly CoverageRow[];
  /** How many rows each kind has and what they add up to, if `gaps` has only the first of them. */
  readonly gapSums?: ReadonlyMap<CoverageKind, GapSums>;
  /** When the meter did not run: how often, how long together, and the latest times first. */
  readonly stopped: {
    readonly times: number;
    readonly totalMs: number;
    readonly latest: readonly StoppedTime[];
  };
  /** Programs that do not trust the certificate, and hosts that are not metered. */
  readonly tasks: readonly CoverageTask[];
  /** The values of filters that were seen in the period, by name. */
  readonly choices: Readonly<Record<string, readonly string[]>>;
  /** The names of machines, whose values are IDs. */
  readonly nameOf?: NameOfValue;
  /** Whether only some kinds are counted. What share was metered is then not known. */
  readonly isOfKinds: boolean;
  readonly periodWords: string;
  /** The command that lists the rows that are left out; null if there is none. */
  readonly restCommand: string | null;
  /** The state of delivery to a cloud, in words; null if there is none. */
  readonly cloud: { readonly state: string; readonly isBad: boolean; readonly sentence: string } | null;
  /** The parts that could not be read. */
  readonly failed: readonly FailedPart[];
}

/** The rows of each kind that are shown. */
export const MAX_ROWS = 10;

/** Renders how much was metered, what was missed, and what to do about it. */
export function renderCoverage(answer: CoverageAnswer, view: View, clock: PageClock): Html {
  const { summary, gaps, stopped, tasks, machines = [], unknownMachines = 0, cloud } = answer;
  const { restCommand, choices, nameOf, failed } = answer;
  const has = (name: PartName) => !failed.some((part) => part.name === name);
  const nameValue: NameOfValue = (name, value) =>
    name === "kind" ? nameKind(value) : (nameOf?.(name, value) ?? null);
  const kinds = [...Map.groupBy(gaps, ({ kind }) => kind)];
  return html`${renderViewNotices(view)}
    ${renderFilters(choices, view, nameValue)}
    ${renderChips(view, nameValue)}
    <div id="coverage" data-live>
    ${renderFigures(summary, unknownMachines, answer, readKinds(view))}
    ${summary.seen === 0 && stopped.times === 0 ? "" : has("calls by time") ? renderTimes(answer.buckets, view, clock) : renderUnread("calls by time")}
    ${renderUnreadOf(failed, "machines")}
    ${machines.length === 0 ? "" : renderMachines(machines, answer.moreMachines, clock)}
    ${tasks.length === 0 ? "" : renderTasks(tasks, restCommand)}
    ${renderUnreadOf(failed, "times without the meter")}
    ${stopped.times === 0 ? "" : renderStopped(stopped, clock, restCommand)}
    ${renderUnreadOf(failed, "what was not metered")}
    ${kinds.length === 0 ? "" : html`<section class="panel" aria-labelledby="gaps-title"><div class="head"><h2 id="gaps-title">What was not metered, or only in part</h2></div>${kinds.map(([kind, rows]) => renderKind(kind, rows, answer.gapSums?.get(kind) ?? sumGaps(rows), clock, restCommand))}</section>`}
    ${renderUnreadOf(failed, "state of the cloud")}
    ${cloud === null ? "" : html`<section class="panel" aria-labelledby="cloud-title"><div class="head"><h2 id="cloud-title">Cloud</h2><span class="${cloud.isBad ? "bad" : "quiet"}">${cloud.state}</span></div><p class="quiet">${cloud.sentence}</p></section>`}
    </div>`;
}

/** Renders a menu for each filter. A value that is chosen is added to those before. */
function renderFilters(choices: CoverageAnswer["choices"], view: View, nameOf: NameOfValue): Html | "" {
  const menus = view.spec.filters.flatMap((name) => {
    const values = choices[name] ?? [];
    const own = values.map((value) => ({ value, name: nameOf(name, value) ?? value }));
    return values.length === 0
      ? []
      : [renderSelect(name, filterName(name), "", [{ value: "", name: "any" }, ...own])];
  });
  if (menus.length === 0) return "";
  return html`<form class="bar" method="get" action="${pageHref(view.base, view.spec.path)}">
    ${renderKept(view, [])}
    ${menus}
    <button>Show</button>
  </form>`;
}

/** Returns which calls a view counts. */
function readKinds(view: View): { readonly hasMetered: boolean; readonly hasMissed: boolean } {
  const filter = readValueFilter(viewParameters(view), "kind");
  if (filter === null) return { hasMetered: true, hasMissed: true };
  const { hasMetered, missing } = selectKinds(filter);
  return { hasMetered, hasMissed: missing.not || missing.kinds.length > 0 };
}

function renderFigures(
  { permille, metered, seen, missing, withoutUsage }: CoverageSummary,
  unknownMachines: number,
  { isOfKinds, periodWords: words }: CoverageAnswer,
  { hasMetered, hasMissed }: ReturnType<typeof readKinds>,
): Html {
  const isUnknown = seen === 0 && unknownMachines > 0;
  const isWhole = permille === 1000 && unknownMachines === 0;
  const sentence = isUnknown
    ? `How many calls ${isOfKinds ? "of these kinds there were" : "were metered"} is unknown`
    : isOfKinds
      ? `${formatQuantity(seen, "call")} to providers of these kinds`
      : permille === null
        ? "No calls to providers"
        : `${formatCount(metered)} of ${formatCount(seen)} calls to providers were metered`;
  const known = isOfKinds
    ? "only known of all kinds"
    : permille === null
      ? "no calls"
      : isWhole
        ? "every call"
        : "not every call";
  const usage =
    seen === 0
      ? ""
      : withoutUsage === 0
        ? "all with usage"
        : `${formatCount(withoutUsage)} ${describeCoverageCount("without_usage", withoutUsage)}`;
  const most =
    missing[0] === undefined
      ? isOfKinds || seen === 0
        ? ""
        : "nothing was missed"
      : `mostly ${describeCoverageCount(mostOf(missing).kind, 2)}`;
  const count = (value: number, isCounted: boolean) =>
    isUnknown || !isCounted ? UNKNOWN : formatCount(value);
  return html`<p class="quiet" data-summary>${sentence}. ${words}.</p>
  <dl class="figures">
    <div><dt>Coverage</dt><dd class="value ${permille === null ? "" : isWhole ? "good" : "warn"}">${permille === null ? UNKNOWN : formatPermille(permille)}</dd><dd>${unknownMachines > 0 ? `unknown for ${formatQuantity(unknownMachines, "machine")}` : known}</dd></div>
    <div><dt>Metered</dt><dd class="value">${count(metered, hasMetered)}</dd><dd>${isUnknown || isOfKinds ? "" : usage}</dd></div>
    <div><dt>Missed</dt><dd class="value">${count(seen - metered, hasMissed)}</dd><dd>${isUnknown ? "" : most}</dd></div>
  </dl>`;
}

const mostOf = (missing: CoverageSummary["missing"]) =>
  missing.reduce((most, each) => (each.count > most.count ? each : most));

/** What is drawn of each time, from the bottom. */
const SERIES = [
  { name: "Metered", colour: 0 },
  { name: "Missed", colour: 1 },
];

/** Renders the calls by time. */
function renderTimes(buckets: readonly CoverageBucket[], view: View, { zone }: PageClock): Html {
  const bars = buckets.map((bucket): Bar => {
    const { from, to, label, metered, seen } = bucket;
    const gap = describeGap(bucket, seen);
    const times = { period: "", from: new Date(from).toISOString(), to: new Date(to).toISOString() };
    return {
      label,
      axisLabel: shortenDate(label),
      ...(buckets.length > 1 && { href: viewHref(view, { values: times }) }),
      values: [BigInt(metered), BigInt(seen - metered)],
      ...(gap !== undefined && { gap }),
    };
  });
  return html`<section class="panel" aria-labelledby="times-title"><div class="head"><h2 id="times-title">Calls to providers</h2><span class="quiet">${zone}</span></div>${renderBars(
    {
      id: "coverage-chart",
      title: "Calls to providers",
      heading: `Time (${zone})`,
      series: SERIES,
      bars,
      ceilingIfEmpty: 10n,
      format: formatShortCount,
      render: formatCount,
    },
  )}</section>`;
}

const renderTasks = (tasks: readonly CoverageTask[], restCommand: string | null): Html =>
  html`<section class="panel" aria-labelledby="tasks-title"><div class="head"><h2 id="tasks-title">To do</h2></div>${tasks
    .slice(0, MAX_ROWS)
    .map(
      ({ name, text, command }) =>
        html`<h3>${renderName(name)}</h3><p class="quiet">${text}</p>${command === null ? "" : renderCommand(command)}`,
    )}${renderRest(tasks.length, restCommand === null ? null : "meter doctor")}</section>`;

function renderMachines(
  machines: readonly MachineLine[],
  more: CoverageAnswer["moreMachines"],
  clock: PageClock,
): Html {
  const until = ({ state, reportedAt }: MachineLine) =>
    reportedAt === null || state === "unknown"
      ? html`<span class="quiet">unknown</span>`
      : html`<span class="${state === "stale" ? "warn" : ""}">${renderTime(reportedAt, clock)}</span>`;
  const count = ({ state }: MachineLine, value: number) =>
    state === "unknown" ? UNKNOWN : formatCount(value);
  return html`<section class="panel" aria-labelledby="machines-title"><div class="head"><h2 id="machines-title">By machine</h2></div>
    <div class="scroll"><table aria-label="Coverage by machine">
      <thead><tr><th scope="col">Machine</th><th scope="col" class="num">Coverage</th><th scope="col" class="num desk">Metered</th><th scope="col" class="num desk">Missed</th><th scope="col">Known until</th></tr></thead>
      <tbody>${machines.map((machine) => html`<tr><th scope="row" class="name">${renderName(machine.name)}</th><td class="num">${renderMachineCoverage(machine)}</td><td class="num desk">${count(machine, machine.metered)}</td><td class="num desk">${count(machine, machine.seen - machine.metered)}</td><td class="when">${until(machine)}</td></tr>`)}</tbody>
    </table></div>${more === undefined ? "" : html`<p class="quiet">${formatQuantity(more.count, "more machine", "more machines")}: <a href="${more.href}">all machines</a></p>`}</section>`;
}

/** Renders the coverage of a machine. One that is not known to the end is never shown as whole. */
export function renderMachineCoverage({ state, permille }: Pick<MachineLine, "state" | "permille">): Html {
  if (state === "unknown") return html`<span class="quiet">unknown</span>`;
  if (permille === null) return html`${UNKNOWN}`;
  const isWhole = permille === 1000 && state === "current";
  return html`<span class="${isWhole ? "good" : "warn"}">${formatPermille(permille)}${state === "stale" ? ", in part" : ""}</span>`;
}

function renderStopped(
  { times, totalMs, latest }: CoverageAnswer["stopped"],
  clock: PageClock,
  restCommand: string | null,
): Html {
  return html`<section class="panel" aria-labelledby="stopped-title"><div class="head"><h2 id="stopped-title">When the meter was not running</h2><span class="quiet">${formatQuantity(times, "time")}, ${formatSpan(totalMs)} in all</span></div>
    <p class="quiet">It was stopped, or the machine was off or asleep. Calls in this time were not counted.</p>
    <div class="scroll"><table aria-label="Times without the meter">
      <thead><tr><th scope="col">From</th><th scope="col">To</th><th scope="col" class="num">Length</th></tr></thead>
      <tbody>${latest.slice(0, MAX_ROWS).map(({ from, to, machine }) => html`<tr><th scope="row" class="when">${renderTime(from, clock, true)}${machine === undefined ? "" : html`<span class="sub">${renderName(machine)}</span>`}</th><td class="when">${renderTime(to, clock, true)}</td><td class="num">${formatSpan(to - from)}</td></tr>`)}</tbody>
    </table></div>${renderRest(times, restCommand)}</section>`;
}

const sumGaps = (rows: readonly CoverageRow[]): GapSums => ({
  rows: rows.length,
  count: rows.reduce((sum, row) => sum + row.count, 0),
});

function renderKind(
  kind: CoverageKind,
  rows: readonly CoverageRow[],
  { rows: all, count }: GapSums,
  clock: PageClock,
  restCommand: string | null,
): Html {
  const title = `${formatCount(count)} ${describeCoverageCount(kind, count)}`;
  const advice = adviseOnCoverage(kind);
  return html`<details id="gap-${kind}" open><summary>${title}</summary>
    ${advice === null ? "" : html`<p class="quiet">${advice.meaning} ${advice.fix}${advice.command === null ? "" : html` <code>${advice.command}</code>`}</p>`}
    <div class="scroll"><table class="gaps" aria-label="${title}">
      <thead><tr><th scope="col">${rows.some(({ machine }) => machine !== undefined) ? "Machine" : "Call"}</th><th scope="col" class="num">Count</th><th scope="col" class="num desk">Last seen after</th></tr></thead>
      <tbody>${rows.slice(0, MAX_ROWS).map((row) => renderGap(row, clock))}</tbody>
    </table></div>${renderRest(all, restCommand)}</details>`;
}

function renderGap({ host, call, count, lastSeenAt, machine }: CoverageRow, clock: PageClock): Html {
  const seen = renderTime(lastSeenAt, clock);
  return html`<tr><th scope="row" class="name">${call === null ? renderName(machine ?? host) : html`<bdi>${call.method} ${call.path}</bdi><span class="sub">${renderName(host)}</span>`}<span class="sub phone">${seen}</span></th><td class="num">${formatCount(count)}</td><td class="num when desk">${seen}</td></tr>`;
}

const renderRest = (rows: number, command: string | null): Html | "" =>
  rows <= MAX_ROWS
    ? ""
    : html`<p class="quiet">${formatQuantity(rows - MAX_ROWS, "more row", "more rows")}${command === null ? "" : html`: <code>${command}</code>`}</p>`;
