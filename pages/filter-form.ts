import { html } from "hono/html";
import { toUsageParameter } from "../core/pricing/view/request-query.ts";
import type { UsageFilter, UsageNotice } from "../core/pricing/view/usage-query.ts";
import { BILLING_MODES, REQUEST_KINDS } from "../core/values/record-fields.ts";
import {
  USAGE_COSTS,
  USAGE_DIMENSIONS,
  USAGE_STATUSES,
  USAGE_TOKENS,
  type UsageDimension,
} from "../core/wire/usage.ts";
import { filterName } from "./dimension-names.ts";
import type { Choice, NameOfValue } from "./filters.ts";
import type { Html } from "./html.ts";
import { pageHref } from "./page-place.ts";
import { readView, type View, type ViewSpec, viewParameters } from "./view.ts";

/**
 * Returns the parameters of an address that `renderFilterForm()` may have made. Accepts the names that other pages and earlier versions
 * give to filters.
 */
export function readFormParameters(parameters: URLSearchParams): URLSearchParams {
  const isForm = parameters.has("form");
  const own = new URLSearchParams();
  for (const [key, value] of parameters) {
    // An empty field of a form is not a filter. A form sends a filter by an unknown value as `unknown=<name>`.
    if (isForm && key === "unknown") own.append(value, "");
    else if (key !== "form" && !(isForm && value === "")) own.append(...toUsageParameter([key, value]));
  }
  return own;
}

/** The state of a list with the filters of the usage query. */
export interface FilteredView<Query> extends View {
  readonly query: Query;
}

/** Reads a list's state. What the query can't have is left out and named in a notice. */
export function readFilteredView<Query extends { readonly filters: readonly UsageFilter[] }>(
  spec: ViewSpec,
  parameters: URLSearchParams,
  base: string,
  parse: (parameters: URLSearchParams) => { readonly query: Query; readonly notices: readonly UsageNotice[] },
): FilteredView<Query> {
  const view = readView(spec, parameters, base);
  const { query, notices } = parse(viewParameters(view));
  const isValid = (name: string, excludes: boolean) =>
    query.filters.some(({ dimension, not }) => dimension === name && not === excludes);
  return {
    ...view,
    filters: view.filters.filter(({ name, excludes }) => isValid(name, excludes)),
    notices: [...view.notices, ...notices.map(({ key, problem }) => `“${key}” is left out. ${problem}`)],
    query,
  };
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

/** The fields of a form besides its filters. */
export interface FormFields {
  /** The keys of the view that they set. */
  readonly keys: readonly string[];
  readonly before?: Html;
  readonly after?: Html;
}

/** Renders the filters that can be added to a view, and further fields, as a form that loads the view. */
export function renderFilterForm(
  {
    choices,
    nameOf = () => null,
  }: { readonly choices: Readonly<Record<string, readonly string[]>>; readonly nameOf?: NameOfValue },
  view: View,
  { keys, before, after }: FormFields,
): Html {
  const dimensions = USAGE_DIMENSIONS.filter((dimension) => view.spec.filters.includes(dimension));
  const menusOf = (names: readonly UsageDimension[]) =>
    names.flatMap((dimension) => {
      const values = FEW_VALUES[dimension] ?? choices[dimension] ?? [];
      const own = values.map((value): Choice => ({ value, name: nameOf(dimension, value) ?? value }));
      return values.length === 0 ? [] : [renderSelect(dimension, filterName(dimension), "", [ANY, ...own])];
    });
  const others = menusOf(dimensions.filter((dimension) => !FIRST.includes(dimension)));
  const typed = TYPED.filter((dimension) => dimensions.includes(dimension));
  return html`<form class="bar" method="get" action="${pageHref(view.base, view.spec.path)}">
    ${renderKept(view, keys)}
    ${before ?? ""}
    ${menusOf(FIRST.filter((dimension) => dimensions.includes(dimension)))}
    ${after ?? ""}
    <button>Show</button>
    <details id="filters"><summary>More filters</summary><div>${others}${typed.map((dimension) => html`<label>${filterName(dimension)} <input id="menu-${dimension}" name="${dimension}" maxlength="256"></label>`)}</div></details>
  </form>`;
}

const ANY: Choice = { value: "", name: "any" };

/** Renders a menu of a form. */
export const renderSelect = (
  name: string,
  label: string,
  selected: string,
  choices: readonly Choice[],
): Html =>
  html`<label>${label} <select id="menu-${name}" name="${name}">${choices.map(({ value, name: text }) => html`<option value="${value}"${value === selected ? html` selected` : ""}>${text}</option>`)}</select></label>`;

/** Renders the rest of a view as hidden fields of a form. */
export const renderKept = (view: View, own: readonly string[]): Html =>
  html`${[...viewParameters(view, { values: {} }), ["form", "1"] as const]
    .filter(([name]) => !own.includes(name))
    .map(([name, value]) => (value === "" ? ["unknown", name] : [name, value]))
    .map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`)}`;
