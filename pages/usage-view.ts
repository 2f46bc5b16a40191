import { html } from "hono/html";
import {
  DEFAULT_USAGE_QUERY,
  parseUsageQuery,
  printUsageQuery,
  type UsageNotice,
  type UsageQuery,
  withoutFilter,
} from "../core/pricing/view/usage-query.ts";
import { isMoney, metricOf, parseSums } from "../core/pricing/view/usage-sums.ts";
import { UNKNOWN } from "../core/values/text/format-count.ts";
import { addQueries } from "../core/values/text/query-string.ts";
import {
  USAGE_COMPARISONS,
  type UsageAnswer,
  type UsageComparison,
  type UsageDimension,
  type UsageMetric,
} from "../core/wire/usage.ts";
import { DIMENSION_NAMES, nameDimension, nameFilterValue } from "./dimension-names.ts";
import { renderShortCount, renderUsd } from "./figures.ts";
import { type NameOfValue, renderPeriodSwitch } from "./filters.ts";
import { formatShortCount, formatShortUsd } from "./formats.ts";
import type { Html } from "./html.ts";
import { renderNotes } from "./notes.ts";
import { pageHref } from "./page-place.ts";
import { renderState } from "./states.ts";
import type { PageClock } from "./times.ts";

/** The state of a page about usage: a query, and what the page adds to it. All of it is in the address. */
export interface UsageView {
  /** The path of the page. */
  readonly path: string;
  /** What the pages of the host are below. */
  readonly base: string;
  readonly query: UsageQuery;
  /** The query of an address without parameters. */
  readonly defaults: UsageQuery;
  /** The page's own keys that differ from their defaults. */
  readonly own: Readonly<Record<string, string>>;
  /** The unknown parts of the address, as sentences. */
  readonly notices: readonly string[];
  /** The names of people and machines, whose values are IDs. Absent: values are their own names. */
  readonly nameOf?: NameOfValue;
}

/** A page about usage: its path, its default query, and its own keys with their values, the default first. */
export interface UsageViewSpec {
  readonly path: string;
  readonly defaults?: Partial<UsageQuery>;
  readonly own?: Readonly<Record<string, readonly string[]>>;
  /** The page's own keys whose values are any text, such as a name to search for. */
  readonly texts?: readonly string[];
}

/** The longest text in an address. */
const MAX_TEXT = 256;

/** Reads a view from the parameters of an address. */
export function readUsageView(spec: UsageViewSpec, parameters: URLSearchParams, base = ""): UsageView {
  const defaults = { ...DEFAULT_USAGE_QUERY, ...spec.defaults };
  const texts = spec.texts ?? [];
  const ownKeys = [...Object.keys(spec.own ?? {}), ...texts];
  // An empty field of a form is not a filter: it leaves the value open.
  const { query, notices } = parseUsageQuery(
    [...parameters].filter(([, value]) => value !== "" || !parameters.has("form")),
    { defaults, otherKeys: [...ownKeys, "format", "form"] },
  );
  const own: Record<string, string> = {};
  const problems: UsageNotice[] = [];
  for (const [key, values] of Object.entries(spec.own ?? {})) {
    const value = parameters.get(key) ?? "";
    if (values.includes(value)) {
      if (value !== values[0]) own[key] = value;
    } else if (value !== "") problems.push({ key, problem: `Expected ${values.join(", ")}.` });
  }
  for (const key of texts) {
    const value = parameters.get(key) ?? "";
    if (value.length > MAX_TEXT) problems.push({ key, problem: `At most ${MAX_TEXT} characters.` });
    else if (value !== "") own[key] = value;
  }
  return {
    path: spec.path,
    base,
    query,
    defaults,
    own,
    notices: [...notices, ...problems].map(
      ({ key, problem }) => `“${key.slice(0, 64)}” is left out. ${problem}`,
    ),
  };
}

/** Returns the address of a view with another query. */
export function usageHref(view: UsageView, change: Partial<UsageQuery> = {}, own = view.own): string {
  return addressOf(view, printUsageQuery({ ...view.query, ...change }, view.defaults), own);
}

/** Returns the address of another page with a query, which that page reads with its own defaults. */
export function usagePageHref(
  { base }: UsageView,
  { path, defaults }: UsageViewSpec,
  query: UsageQuery,
): string {
  return addressOf({ base, path }, printUsageQuery(query, { ...DEFAULT_USAGE_QUERY, ...defaults }), {});
}

function addressOf(
  page: Pick<UsageView, "base" | "path">,
  query: string,
  own: Readonly<Record<string, string>>,
): string {
  return addQueries(pageHref(page.base, page.path), query, new URLSearchParams(own).toString());
}

/** Returns the page's own keys without some. */
export const withoutOwn = (
  { own }: Pick<UsageView, "own">,
  ...keys: readonly string[]
): Record<string, string> => Object.fromEntries(Object.entries(own).filter(([key]) => !keys.includes(key)));

export const METRIC_NAMES: Readonly<Record<UsageMetric, string>> = {
  spent: "Spent",
  plan_usage: "Plan usage",
  unknown_billing: "Unknown billing",
  requests: "Requests",
  failed_requests: "Failed requests",
  tokens: "Tokens",
  input_tokens: "Input tokens",
  cache_read_tokens: "Tokens read from caches",
  cache_write_tokens: "Tokens written to caches",
  output_tokens: "Output tokens",
};

const COMPARISON_NAMES: Readonly<Record<UsageComparison, string>> = {
  prev: "the period before",
  year: "a year before",
  none: "nothing",
};

/** Formats a value of a metric for an axis or a sentence. */
export const formatMetric = (metric: UsageMetric, value: bigint | null): string =>
  value === null ? UNKNOWN : isMoney(metric) ? formatShortUsd(value) : formatShortCount(value);

/** Renders a value of a metric. */
export const renderMetric = (metric: UsageMetric, value: bigint | null): Html =>
  isMoney(metric) ? renderUsd(value) : renderShortCount(value);

/** Renders the sum of some requests: "unpriced" instead of an amount of 0 that lacks requests without a price. */
export function renderSum(metric: UsageMetric, totals: UsageAnswer["totals"]): Html {
  const value = metricOf(parseSums(totals), metric);
  return isMoney(metric) && value === 0n && totals.unpriced_requests > 0
    ? html`<span class="warn">unpriced</span>`
    : renderMetric(metric, value);
}

/** Renders the periods, between the links to the one before and the one after. */
export const renderUsagePeriods = (view: UsageView, clock: PageClock): Html =>
  renderPeriodSwitch(view.query.period, { ...clock, zone: view.query.tz ?? clock.zone }, (period) =>
    usageHref(view, { period }),
  );

/** A menu: a part of the query or a filter, with the values that it can have. */
export interface UsageMenu {
  readonly name: string;
  readonly label: string;
  readonly selected: string;
  readonly values: readonly (readonly [value: string, name: string])[];
}

export const metricMenu = ({ query }: UsageView, metrics: readonly UsageMetric[]): UsageMenu => ({
  name: "metric",
  label: "Show",
  selected: query.metric,
  values: metrics.map((metric) => [metric, METRIC_NAMES[metric]]),
});

export const dimensionMenu = (
  name: "by" | "then",
  label: string,
  selected: UsageDimension | null,
  dimensions: readonly UsageDimension[],
  withNone = false,
): UsageMenu => ({
  name,
  label,
  selected: selected ?? "",
  values: [
    ...(withNone ? [["", "nothing"] as const] : []),
    ...dimensions.map((dimension) => [dimension, nameDimension(dimension)] as const),
  ],
});

export const comparisonMenu = ({ query }: UsageView): UsageMenu => ({
  name: "compare",
  label: "compared with",
  selected: query.compare,
  values: USAGE_COMPARISONS.map((each) => [each, COMPARISON_NAMES[each]]),
});

/** A menu that filters by one value of a dimension. None for a filter with several values: the form keeps it as it is. */
export function filterMenus(
  view: UsageView,
  dimension: UsageDimension,
  values: readonly (readonly [value: string, name: string])[],
): UsageMenu[] {
  const filter = view.query.filters.find((each) => each.dimension === dimension && !each.not);
  if (filter !== undefined && filter.values.length > 1) return [];
  const selected = filter?.values[0] ?? "";
  const names = new Map(values);
  if (selected !== "" && !names.has(selected))
    names.set(selected, view.nameOf?.(dimension, selected) ?? selected);
  if (names.size === 0) return [];
  const all = [...names].sort(([, one], [, other]) => (one < other ? -1 : 1));
  return [{ name: dimension, label: DIMENSION_NAMES[dimension], selected, values: [["", "all"], ...all] }];
}

/** The menus that filter by the values of answers by one dimension. */
export const filterMenusOf = (view: UsageView, answers: readonly UsageAnswer[]): UsageMenu[] =>
  answers.flatMap(({ by, rows }) =>
    by === null
      ? []
      : filterMenus(
          view,
          by,
          rows.flatMap(({ key, label }) => (key === null ? [] : [[key, label] as const])),
        ),
  );

/** A field for a text to search for. */
export interface UsageSearch {
  readonly name: string;
  readonly label: string;
  readonly value: string;
}

/** Renders menus as a form that loads the view, some of them behind "Filter". The rest of the query is in hidden fields. */
export function renderUsageMenus(
  view: UsageView,
  menus: readonly UsageMenu[],
  filters: readonly UsageMenu[] = [],
  search: UsageSearch | null = null,
): Html {
  const names = [...menus, ...filters, ...(search === null ? [] : [search])].map(({ name }) => name);
  const kept = [
    ...new URLSearchParams(printUsageQuery(view.query, view.defaults)),
    ...Object.entries(view.own),
    ["form", "1"] as const,
  ].filter(([name]) => !names.includes(name));
  return html`<form class="bar" method="get" action="${pageHref(view.base, view.path)}">
    ${kept.map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`)}
    ${search === null ? "" : html`<label>${search.label} <input type="search" id="menu-${search.name}" name="${search.name}" value="${search.value}" maxlength="${MAX_TEXT}"></label>`}
    ${menus.map(renderUsageMenu)}
    <button>Show</button>
    ${filters.length === 0 ? "" : html`<details id="filters"><summary>Filter</summary><div>${filters.map(renderUsageMenu)}</div></details>`}
  </form>`;
}

const renderUsageMenu = ({ name, label, values, selected }: UsageMenu): Html =>
  html`<label>${label} <select id="menu-${name}" name="${name}">${values.map(([value, text]) => html`<option value="${value}"${value === selected ? html` selected` : ""}>${text}</option>`)}</select></label>`;

/** Renders the filters, each with a link that removes it. */
export function renderUsageChips(view: UsageView): Html | "" {
  const { filters } = view.query;
  if (filters.length === 0) return "";
  return html`<div class="bar" role="group" aria-label="Filters">${filters.map(
    ({ dimension, not, values }) =>
      html`<span class="chip"><span>${DIMENSION_NAMES[dimension]} ${not ? "is not" : "is"} ${values.map((value, n) => html`${n > 0 ? " or " : ""}<bdi>${nameFilterValue(dimension, value, view.nameOf)}</bdi>`)}</span><a class="drop" href="${usageHref(view, withoutFilter(view.query, dimension, not))}" aria-label="Remove the filter ${DIMENSION_NAMES[dimension]}">×</a></span>`,
  )}${filters.length > 1 ? html`<a href="${usageHref(view, { filters: [] })}">Remove all</a>` : ""}</div>`;
}

/** Renders notices about the unknown parts of the address. */
export const renderUsageNotices = ({ notices }: UsageView): Html | "" => renderNotes(notices);

/** Renders that no request matches a view: with its filters to drop, without any with a longer period. */
export function renderNoUsage(view: UsageView): Html {
  const { filters, period } = view.query;
  if (filters.length === 0)
    return renderState(
      "No metered calls in this period",
      period === "12m" ? "The first one appears here when it ends." : "Choose a longer period.",
      period === "12m" ? "" : html`<p><a href="${usageHref(view, { period: "12m" })}">Show 12 months</a></p>`,
    );
  return renderState(
    "No requests match these filters",
    filters.length === 1 ? "Remove the filter to see more." : "Remove one of them to see more.",
    html`<ul class="plain">${filters.map(
      ({ dimension, not, values }) =>
        html`<li><a href="${usageHref(view, withoutFilter(view.query, dimension, not))}">Without ${nameDimension(dimension)}${not ? " not" : ""} ${values.map((value, n) => html`${n > 0 ? " or " : ""}<bdi>${nameFilterValue(dimension, value, view.nameOf)}</bdi>`)}</a></li>`,
    )}</ul>`,
  );
}

/** Where the calls of a caveat are listed. */
export interface CaveatLinks {
  /** Returns the address of the requests of a caveat's query. */
  readonly requests: (query: string) => string;
  readonly coverage: string;
}

/** Where the rows behind figures are listed. */
export interface RowLinks extends CaveatLinks {
  /** Returns the address of the requests of a query. */
  readonly list: (query: UsageQuery) => string;
}

/** Renders what a reader of the totals must know, each with the rows behind it. */
export const renderCaveats = (answer: Pick<UsageAnswer, "caveats">, links: CaveatLinks): Html | "" =>
  renderNotes(listCaveats(answer, links));

/** Renders caveats as sentences. */
export const listCaveats = ({ caveats }: Pick<UsageAnswer, "caveats">, links: CaveatLinks): Html[] =>
  caveats.map(({ kind, sentence, query }) => {
    const href =
      query !== null
        ? links.requests(query)
        : ["not_metered", "unknown_coverage"].includes(kind)
          ? links.coverage
          : null;
    return html`${sentence}${href === null ? "" : html` <a href="${href}">Show</a>`}`;
  });
