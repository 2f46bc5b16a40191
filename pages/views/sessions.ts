import { html } from "hono/html";
import { type CostSplit, sumOfSplit } from "../../core/pricing/cost-split.ts";
import { formatPicoUsd, formatUsd } from "../../core/pricing/money.ts";
import {
  describeUnknownCosts,
  parseSessionQuery,
  type SessionListQuery,
} from "../../core/pricing/view/session-query.ts";
import { formatQuantity } from "../../core/values/text/format-quantity.ts";
import type { Millis } from "../../core/values/time.ts";
import { SESSION_SORTS, type SessionSort } from "../../core/wire/queries.ts";
import type { UsageDimension } from "../../core/wire/usage.ts";
import { type CoverageFigure, renderCoverageLine } from "../coverage-figure.ts";
import { formatSpan, renderShare, renderUsd } from "../figures.ts";
import { type FilteredView, readFilteredView, readFormParameters, renderFilterForm } from "../filter-form.ts";
import { type NameOfValue, PERIOD_VALUES, renderChips, renderViewNotices } from "../filters.ts";
import type { Html } from "../html.ts";
import { renderName } from "../names.ts";
import { type FailedPart, renderUnreadOf } from "../page-parts.ts";
import type { PagePlace } from "../page-place.ts";
import { renderEmpty, renderState } from "../states.ts";
import { renderTime } from "../times.ts";
import { type ViewSpec, viewHref } from "../view.ts";
import { COVERAGE_VIEW } from "./coverage.ts";
import { sessionHref } from "./links.ts";
import type { RequestSender } from "./shown-request.ts";

/** A page that lists sessions, with the dimensions that its host can filter by. */
export const sessionsSpec = (dimensions: readonly UsageDimension[]): ViewSpec => ({
  path: "/sessions",
  keys: { period: PERIOD_VALUES, from: [], to: [], sort: SESSION_SORTS, min_cost: [] },
  filters: dimensions,
  areUsage: true,
});

/** The state of a list of sessions. */
export type SessionsView = FilteredView<SessionListQuery>;

/** Reads a list's state from the parameters of an address. */
export function readSessionsView(spec: ViewSpec, parameters: URLSearchParams, base = ""): SessionsView {
  const view = readFilteredView(spec, readFormParameters(parameters), base, parseSessionQuery);
  const { minPicoUsd } = view.query;
  return {
    ...view,
    values: { ...view.values, min_cost: minPicoUsd === null ? "" : formatPicoUsd(minPicoUsd) },
  };
}

/** A session in a list. */
export interface SessionLine {
  readonly sessionId: string;
  readonly isInferred: boolean;
  readonly project: string;
  readonly branch: string | null;
  readonly client: string | null;
  /** Who sent it to a cloud, which does not receive the names of programs. Absent: it is of this machine. */
  readonly sender?: RequestSender;
  readonly startedAt: Millis;
  readonly endedAt: Millis;
  readonly agents: number;
  readonly calls: number;
  readonly failed: number;
  /** Refused by budgets. They are in `calls`. */
  readonly blocked: number;
  readonly unpriced: number;
  /** Input tokens that came from caches, and all; null if they are not known. */
  readonly cached: { readonly read: bigint; readonly input: bigint } | null;
  readonly split: CostSplit;
}

export interface SessionsAnswer {
  readonly sessions: readonly SessionLine[];
  /** How many sessions a minimum cost leaves out because a call has no known cost. */
  readonly unknownCosts: number;
  readonly periodWords: string;
  /** Of the period, whatever the filters. */
  readonly coverage: CoverageFigure;
  readonly choices: Readonly<Record<string, readonly string[]>>;
  /** The names of people and machines, whose values are IDs. */
  readonly nameOf?: NameOfValue;
  /** Whether the period may have more sessions than the list. */
  readonly hasMore: boolean;
  /** What the period can't have, as a sentence. */
  readonly caveat?: string;
  /** The parts that could not be read. */
  readonly failed: readonly FailedPart[];
}

const ORDERS: Readonly<Record<SessionSort, (one: SessionLine, other: SessionLine) => number>> = {
  latest: (one, other) => other.endedAt - one.endedAt,
  // By what was spent; those that spent the same, by what plans covered.
  cost: (one, other) =>
    Number(other.split.spentPicoUsd - one.split.spentPicoUsd) ||
    Number(sumOfSplit(other.split) - sumOfSplit(one.split)),
  calls: (one, other) => other.calls - one.calls,
  length: (one, other) => other.endedAt - other.startedAt - (one.endedAt - one.startedAt),
};

/** What a list is that has not all sessions, by its order. */
const FIRST_OF: Readonly<Record<SessionSort, (sessions: string) => string>> = {
  latest: (sessions) => `The latest ${sessions}`,
  cost: (sessions) => `The ${sessions} that cost most`,
  calls: (sessions) => `The ${sessions} with most calls`,
  length: (sessions) => `The longest ${sessions}`,
};

/** Renders sessions with their costs. */
export function renderSessions(answer: SessionsAnswer, view: SessionsView, place: PagePlace): Html {
  const { sessions, hasMore, periodWords, nameOf, caveat, coverage } = answer;
  const { sort, minPicoUsd } = view.query;
  const sorted = sessions.toSorted(ORDERS[sort]);
  const count = formatQuantity(sessions.length, "session");
  return html`${renderViewNotices(view)}
    ${renderUnreadOf(answer.failed, "menus of filters")}
    ${renderFilterForm(answer, view, { keys: ["min_cost"], after: renderMinCost(view) })}
    ${renderChips(view, nameOf)}
    ${caveat === undefined ? "" : html`<div class="notice" role="note">${caveat}</div>`}
    <p class="quiet" data-summary>${hasMore ? FIRST_OF[sort](count) : count}${minPicoUsd === null ? "" : ` that cost ${formatUsd(minPicoUsd)} or more`}. ${periodWords}.${renderCoverageLine(coverage, viewHref(view, { spec: COVERAGE_VIEW }))}</p>
    <div id="list" data-live>${
      sessions.length > 0
        ? html`<section class="panel">${renderTable(sorted, view, place)}</section>`
        : renderNone(view, nameOf)
    }${renderUnknownCosts(answer, view)}</div>`;
}

const renderUnknownCosts = ({ unknownCosts, sessions }: SessionsAnswer, view: SessionsView): Html =>
  unknownCosts === 0
    ? html``
    : html`<p class="quiet">${describeUnknownCosts(unknownCosts)}${sessions.length === 0 ? "" : html` <a href="${viewHref(view, { values: { min_cost: "" } })}">Show sessions of any cost</a>`}</p>`;

const renderMinCost = ({ values }: SessionsView): Html =>
  html`<label>Minimum cost in USD <input id="menu-min_cost" name="min_cost" inputmode="decimal" size="6" maxlength="40" value="${values.min_cost ?? ""}"></label>`;

function renderNone(view: SessionsView, nameOf?: NameOfValue): Html {
  const { minPicoUsd } = view.query;
  if (minPicoUsd !== null)
    return renderState(
      `No session cost ${formatUsd(minPicoUsd)} or more`,
      view.filters.length === 0
        ? "Spend and plan usage are compared separately."
        : "The filters apply too. Spend and plan usage are compared separately.",
      html`<p><a href="${viewHref(view, { values: { min_cost: "" } })}">Show sessions of any cost</a></p>`,
    );
  if (view.filters.length > 0) return renderEmpty(view, "sessions", nameOf);
  return renderState(
    "No sessions in this period",
    "A session is a run of a coding agent, such as Claude Code or Codex.",
  );
}

function renderTable(sessions: readonly SessionLine[], view: SessionsView, place: PagePlace): Html {
  const head = (sort: string, name: string, kind: string) =>
    html`<th scope="col" class="${kind}"${view.values.sort === sort ? html` aria-sort="descending"` : ""}><a href="${viewHref(view, { values: { sort } })}">${name}</a></th>`;
  return html`<div class="scroll"><table aria-label="Sessions">
    <thead><tr>${head("latest", "Began", "")}<th scope="col">Project</th><th scope="col" class="desk">${sessions[0]?.sender === undefined ? "Program" : "Person"}</th>${head("length", "Length", "num desk")}${head("calls", "Calls", "num desk")}<th scope="col" class="num wide">Agents</th><th scope="col" class="num wide">Cached</th>${head("cost", "Spent", "num")}<th scope="col" class="num desk">Plan usage</th></tr></thead>
    <tbody>${sessions.map((session) => renderRow(session, place))}</tbody>
  </table></div>`;
}

function renderRow(session: SessionLine, place: PagePlace): Html {
  const { sessionId, project, branch, client, sender, startedAt, endedAt } = session;
  const { calls, failed, blocked, agents, cached, split } = session;
  const { spentPicoUsd, planUsagePicoUsd, unknownBillingPicoUsd } = split;
  const plan =
    planUsagePicoUsd === 0n ? "" : html`<span class="sub phone">${renderUsd(planUsagePicoUsd)} plan</span>`;
  const unknown =
    unknownBillingPicoUsd === 0n
      ? ""
      : html`<span class="sub">${renderUsd(unknownBillingPicoUsd)} unknown billing</span>`;
  return html`<tr id="s-${sessionId}">
    <th scope="row" class="when"><a href="${sessionHref(place, sessionId)}">${renderTime(startedAt, place)}</a></th>
    <td class="name">${renderName(project)}${branch === null ? "" : html`<span class="sub"><bdi>${branch}</bdi></span>`}<span class="sub phone">${formatQuantity(calls, "call")}, ${formatSpan(endedAt - startedAt)}</span></td>
    <td class="name desk">${sender === undefined ? renderName(client) : html`${renderName(sender.person)}<span class="sub">${renderName(sender.machine)}</span>`}${session.isInferred ? html`<span class="sub">by process</span>` : ""}</td>
    <td class="num desk">${formatSpan(endedAt - startedAt)}</td>
    <td class="num desk">${calls.toLocaleString("en")}${failed === 0 ? "" : html`<span class="sub bad">${failed} failed</span>`}${blocked === 0 ? "" : html`<span class="sub">${blocked} refused</span>`}</td>
    <td class="num wide">${agents}</td>
    <td class="num wide">${cached === null ? "–" : renderShare(cached.read, cached.input)}</td>
    <td class="num">${spentPicoUsd === 0n && session.unpriced > 0 ? html`<span class="warn">unpriced</span>` : renderUsd(spentPicoUsd)}${plan}${unknown}</td>
    <td class="num desk">${planUsagePicoUsd === 0n ? "–" : renderUsd(planUsagePicoUsd)}</td>
  </tr>`;
}
