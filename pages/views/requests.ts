import { html } from "hono/html";
import {
  parseRequestQuery,
  type RequestQuery,
  toUsageParameter,
} from "../../core/pricing/view/request-query.ts";
import { BILLING_MODES, REQUEST_KINDS } from "../../core/values/record-fields.ts";
import { formatQuantity } from "../../core/values/text/format-quantity.ts";
import { MAX_SEARCH, REQUEST_SORTS } from "../../core/wire/queries.ts";
import {
  USAGE_COSTS,
  USAGE_DIMENSIONS,
  USAGE_STATUSES,
  USAGE_TOKENS,
  type UsageDimension,
} from "../../core/wire/usage.ts";
import { type CoverageFigure, renderCoverageLine } from "../coverage-figure.ts";
import { filterName } from "../dimension-names.ts";
import { type Choice, type NameOfValue, PERIOD_VALUES, renderChips, renderViewNotices } from "../filters.ts";
import type { Html } from "../html.ts";
import { type PagePlace, pageHref } from "../page-place.ts";
import { renderEmpty } from "../states.ts";
import { readView, type View, type ViewSpec, viewHref, viewParameters } from "../view.ts";
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
export interface RequestsView extends View {
  readonly query: RequestQuery;
}

/** Reads a list's state from the parameters of an address. Accepts the names that other pages and earlier versions give to filters. */
export function readRequestsView(spec: ViewSpec, parameters: URLSearchParams, base = ""): RequestsView {
  const isForm = parameters.has("form");
  const columns = parseColumns(parameters.getAll("columns"), isCloudSpec(spec));
  const own = new URLSearchParams();
  for (const [key, value] of parameters) {
    // An empty field of a form is not a filter. A form sends a filter by an unknown value as `unknown=<name>`.
    const isLeftOut = key === "form" || key === "columns" || (isForm && value === "");
    if (isForm && key === "unknown") own.append(value, "");
    else if (!isLeftOut) own.append(...toUsageParameter([key, value]));
  }
  const usual = defaultColumnsOf(isCloudSpec(spec)).map(({ name }) => name);
  const chosen = columns.names.join();
  if (chosen !== usual.join()) own.set("columns", chosen);
  const view = readView(spec, own, base);
  const { query, notices } = parseRequestQuery(viewParameters(view));
  const isValid = (name: string, excludes: boolean) =>
    query.filters.some(({ dimension, not }) => dimension === name && not === excludes);
  return {
    ...view,
    filters: view.filters.filter(({ name, excludes }) => isValid(name, excludes)),
    notices: [
      ...view.notices,
      ...notices.map(({ key, problem }) => `“${key}” is left out. ${problem}`),
      ...columns.unknown.map((name) => `There is no column “${name.slice(0, 64)}”. It is left out.`),
    ],
    query,
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
}

const SORT_NAMES: Readonly<Record<string, string>> = {
  time: "time",
  cost: "cost",
  tokens: "tokens",
  ms: "duration",
};

/** Renders the list of requests: the latest first, or those with the most of something. */
export function renderRequests(answer: RequestsAnswer, view: RequestsView, place: PagePlace): Html {
  const { requests, nextCursor, senders, nameOf, caveat, coverage } = answer;
  const isByTime = view.query.sort === "time";
  return html`${renderViewNotices(view)}
    ${renderControls(answer, view)}
    ${renderChips(view, nameOf)}
    ${caveat === undefined ? "" : html`<div class="notice" role="note">${caveat}</div>`}
    <p class="quiet" data-summary>${describeCount(answer, view)}.${renderCoverageLine(coverage, viewHref(view, { spec: COVERAGE_VIEW }))}</p>
    <div id="list" data-live>${
      requests.length === 0
        ? renderEmpty(view, "requests", nameOf)
        : html`<section class="panel">${renderRequestTable({ label: "Requests", requests, senders, view }, place)}
        <nav class="pages" aria-label="Pages of requests">${view.values.cursor === "" ? html`<span></span>` : html`<a href="${viewHref(view, { values: { cursor: "" } })}">${isByTime ? "Latest" : "First page"}</a>`}${nextCursor === null ? html`<span class="quiet">The end.</span>` : html`<a href="${viewHref(view, { values: { cursor: nextCursor } })}" rel="next" data-key="n">${isByTime ? "Earlier" : "Next page"}</a>`}</nav></section>`
    }</div>`;
}

function describeCount({ requests, total, periodWords }: RequestsAnswer, { query }: RequestsView): string {
  const shown = requests.length;
  const count =
    total === null ? formatQuantity(shown, "request") : `${shown} of ${total.toLocaleString("en")} requests`;
  const order = query.sort === "time" ? "" : `, sorted by ${SORT_NAMES[query.sort]}`;
  return `${count}${order}. ${periodWords}`;
}

/** The values of filters that have few. */
const FEW_VALUES: Readonly<Partial<Record<UsageDimension, readonly string[]>>> = {
  status: USAGE_STATUSES,
  cost: USAGE_COSTS,
  tokens: USAGE_TOKENS,
  billing: BILLING_MODES,
  kind: REQUEST_KINDS,
};

/** The filters that are typed: they have many values. */
const TYPED: readonly UsageDimension[] = ["branch", "session", "http_status", "error"];

/** The menus that are seen at once. */
const FIRST: readonly UsageDimension[] = ["project", "model", "status"];

/** Renders the search, the order, the filters that can be added, and the columns. */
function renderControls({ choices, nameOf = () => null }: RequestsAnswer, view: RequestsView): Html {
  const dimensions = USAGE_DIMENSIONS.filter((dimension) => view.spec.filters.includes(dimension));
  const menusOf = (names: readonly UsageDimension[]) =>
    names.flatMap((dimension) => {
      const values = FEW_VALUES[dimension] ?? choices[dimension] ?? [];
      const own = values.map((value): Choice => ({ value, name: nameOf(dimension, value) ?? value }));
      return values.length === 0 ? [] : [renderSelect(dimension, filterName(dimension), "", [ANY, ...own])];
    });
  const others = menusOf(dimensions.filter((dimension) => !FIRST.includes(dimension)));
  const typed = TYPED.filter((dimension) => dimensions.includes(dimension));
  const sorts = REQUEST_SORTS.map((value): Choice => ({ value, name: SORT_NAMES[value] ?? value }));
  return html`<form class="bar" method="get" action="${pageHref(view.base, view.spec.path)}">
    ${renderKept(view, ["q", "sort"])}
    <label>Search <input type="search" id="menu-q" name="q" value="${view.query.text ?? ""}" maxlength="${MAX_SEARCH}"></label>
    ${menusOf(FIRST)}
    ${renderSelect("sort", "Sort by", view.query.sort, sorts)}
    <button>Show</button>
    <details id="filters"><summary>More filters</summary><div>${others}${typed.map((dimension) => html`<label>${filterName(dimension)} <input id="menu-${dimension}" name="${dimension}" maxlength="256"></label>`)}</div></details>
  </form>${renderColumnChoice(view)}`;
}

const ANY: Choice = { value: "", name: "any" };

const renderSelect = (name: string, label: string, selected: string, choices: readonly Choice[]): Html =>
  html`<label>${label} <select id="menu-${name}" name="${name}">${choices.map(({ value, name: text }) => html`<option value="${value}"${value === selected ? html` selected` : ""}>${text}</option>`)}</select></label>`;

/** Renders the rest of a view as hidden fields of a form. */
const renderKept = (view: View, own: readonly string[]): Html =>
  html`${[...viewParameters(view, { values: {} }), ["form", "1"] as const]
    .filter(([name]) => !own.includes(name))
    .map(([name, value]) => (value === "" ? ["unknown", name] : [name, value]))
    .map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`)}`;

function renderColumnChoice(view: RequestsView): Html {
  const isCloud = isCloudSpec(view.spec);
  const chosen = view.values.columns === "" ? null : (view.values.columns ?? "").split(",");
  const shown = chosen ?? defaultColumnsOf(isCloud).map(({ name }) => name);
  return html`<form class="bar" method="get" action="${pageHref(view.base, view.spec.path)}">
    ${renderKept(view, ["columns"])}
    <details id="columns"><summary>Columns</summary><div class="checks">${columnsOf(isCloud).map(({ name, heading }) => html`<label><input type="checkbox" name="columns" value="${name}"${shown.includes(name) ? html` checked` : ""}> ${heading}</label>`)}<button>Apply</button>${chosen === null ? "" : html`<a href="${viewHref(view, { values: { columns: "" } })}">Default columns</a>`}</div></details>
  </form>`;
}
