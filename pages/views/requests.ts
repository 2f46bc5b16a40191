import { html } from "hono/html";
import { parseRequestQuery, type RequestQuery } from "../../core/pricing/view/request-query.ts";
import { formatQuantity } from "../../core/values/text/format-quantity.ts";
import { MAX_SEARCH, REQUEST_SORTS } from "../../core/wire/queries.ts";
import type { UsageDimension } from "../../core/wire/usage.ts";
import { type CoverageFigure, renderCoverageLine } from "../coverage-figure.ts";
import {
  type FilteredView,
  readFilteredView,
  readFormParameters,
  renderFilterForm,
  renderKept,
  renderSelect,
} from "../filter-form.ts";
import { type Choice, type NameOfValue, PERIOD_VALUES, renderChips, renderViewNotices } from "../filters.ts";
import type { Html } from "../html.ts";
import { renderListPages } from "../list-pages.ts";
import { type FailedPart, renderUnreadOf } from "../page-parts.ts";
import { type PagePlace, pageHref } from "../page-place.ts";
import { renderEmpty } from "../states.ts";
import { type ViewSpec, viewHref } from "../view.ts";
import { COVERAGE_VIEW } from "./coverage.ts";
import { columnsOf, defaultColumnsOf, parseColumns } from "./request-columns.ts";
import { renderRequestTable } from "./request-table.ts";
import type { RequestSender, ShownRequest } from "./shown-request.ts";

/** A page that lists requests, with the dimensions that its host can filter by. */
export function requestsSpec(path: string, dimensions: readonly UsageDimension[]): ViewSpec {
  const keys = {
    period: PERIOD_VALUES,
    from: [],
    to: [],
    q: [],
    sort: REQUEST_SORTS,
    columns: [],
    cursor: [],
  };
  return { path, keys, filters: dimensions, areUsage: true };
}

const isCloudSpec = ({ filters }: ViewSpec): boolean => filters.includes("person");

/** The state of a list of requests. */
export type RequestsView = FilteredView<RequestQuery>;

/** Reads a list's state from the parameters of an address. */
export function readRequestsView(spec: ViewSpec, parameters: URLSearchParams, base = ""): RequestsView {
  const columns = parseColumns(parameters.getAll("columns"), isCloudSpec(spec));
  const own = readFormParameters(parameters);
  own.delete("columns");
  const usual = defaultColumnsOf(isCloudSpec(spec)).map(({ name }) => name);
  const chosen = columns.names.join();
  if (chosen !== usual.join()) own.set("columns", chosen);
  const view = readFilteredView(spec, own, base, parseRequestQuery);
  return {
    ...view,
    notices: [
      ...view.notices,
      ...columns.unknown.map((name) => `There is no column “${name.slice(0, 64)}”. It is left out.`),
    ],
  };
}

/** One page of requests. */
export interface RequestsAnswer {
  readonly requests: readonly ShownRequest[];
  /** Null on the last page. */
  readonly nextCursor: string | null;
  readonly periodWords: string;
  /** Of the period, whatever the filters. */
  readonly coverage: CoverageFigure;
  /** Values of filters that were seen in the period, by name. */
  readonly choices: Readonly<Record<string, readonly string[]>>;
  /** How many requests match, with the view's filters; null if that was not counted. */
  readonly total: number | null;
  /** Who sent the requests, by ID. Absent: this machine did. */
  readonly senders?: ReadonlyMap<string, RequestSender>;
  /** The names of people and machines, whose values are IDs. */
  readonly nameOf?: NameOfValue;
  /** What the period can't have, as a sentence. */
  readonly caveat?: string;
  /** The parts that could not be read. */
  readonly failed: readonly FailedPart[];
}

const SORT_NAMES: Readonly<Record<string, string>> = {
  time: "time",
  cost: "cost",
  tokens: "tokens",
  ms: "duration",
};

/** Renders the list of requests: the latest first, or those with the most of something. */
export function renderRequests(answer: RequestsAnswer, view: RequestsView, place: PagePlace): Html {
  const { requests, nextCursor, senders, nameOf, caveat, coverage, failed } = answer;
  return html`${renderViewNotices(view)}
    ${renderUnreadOf(failed, "menus of filters")}
    ${renderControls(answer, view)}
    ${renderChips(view, nameOf)}
    ${caveat === undefined ? "" : html`<div class="notice" role="note">${caveat}</div>`}
    <p class="quiet" data-summary>${describeCount(answer, view)}.${renderCoverageLine(coverage, viewHref(view, { spec: COVERAGE_VIEW }))}</p>
    ${renderUnreadOf(failed, "number of requests")}
    <div id="list" data-live>${
      requests.length === 0
        ? renderEmpty(view, "requests", nameOf)
        : html`<section class="panel">${renderRequestTable({ label: "Requests", requests, senders, view }, place)}
        ${renderListPages(view, nextCursor, "requests", view.query.sort === "time")}</section>`
    }</div>`;
}

function describeCount({ requests, total, periodWords }: RequestsAnswer, { query }: RequestsView): string {
  const shown = requests.length;
  const count =
    total === 0
      ? "No requests"
      : total === null
        ? formatQuantity(shown, "request")
        : `${shown} of ${total.toLocaleString("en")} requests`;
  const order = query.sort === "time" ? "" : `, sorted by ${SORT_NAMES[query.sort]}`;
  return `${count}${order}. ${periodWords}`;
}

/** Renders the search, the order, the filters that can be added, and the columns. */
function renderControls(answer: RequestsAnswer, view: RequestsView): Html {
  const sorts = REQUEST_SORTS.map((value): Choice => ({ value, name: SORT_NAMES[value] ?? value }));
  const form = renderFilterForm(answer, view, {
    keys: ["q", "sort"],
    before: html`<label>Search <input type="search" id="menu-q" name="q" value="${view.query.text ?? ""}" maxlength="${MAX_SEARCH}"></label>`,
    after: renderSelect("sort", "Sort by", view.query.sort, sorts),
  });
  return html`${form}${renderColumnChoice(view)}`;
}

function renderColumnChoice(view: RequestsView): Html {
  const isCloud = isCloudSpec(view.spec);
  const chosen = view.values.columns === "" ? null : (view.values.columns ?? "").split(",");
  const shown = chosen ?? defaultColumnsOf(isCloud).map(({ name }) => name);
  return html`<form class="bar" method="get" action="${pageHref(view.base, view.spec.path)}">
    ${renderKept(view, ["columns"])}
    <details id="columns"><summary>Columns</summary><div class="checks">${columnsOf(isCloud).map(({ name, heading }) => html`<label><input type="checkbox" name="columns" value="${name}"${shown.includes(name) ? html` checked` : ""}> ${heading}</label>`)}<button>Apply</button>${chosen === null ? "" : html`<a href="${viewHref(view, { values: { columns: "" } })}">Default columns</a>`}</div></details>
  </form>`;
}
