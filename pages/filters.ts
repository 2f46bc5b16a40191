import { html } from "hono/html";
import { PERIOD_NAMES } from "../core/pricing/view/usage-plan.ts";
import type { UsageQuery } from "../core/pricing/view/usage-query.ts";
import type { UsagePeriodName } from "../core/wire/usage.ts";
import { filterName, nameFilterValue } from "./dimension-names.ts";
import type { Html } from "./html.ts";
import { renderNotes } from "./notes.ts";
import { pageHref } from "./page-place.ts";
import { renderPeriodSteps } from "./period-steps.ts";
import type { PageClock } from "./times.ts";
import { type View, type ViewFilter, viewHref, viewParameters } from "./view.ts";

/** One value of a key, in words. */
export interface Choice {
  readonly value: string;
  readonly name: string;
}

/** The periods of all pages in their order, each with its key on the keyboard. */
const PERIODS: readonly (Choice & { readonly key: string })[] = [
  { value: "today", name: "Today", key: "t" },
  { value: "7d", name: "7 days", key: "w" },
  { value: "30d", name: "30 days", key: "m" },
  { value: "90d", name: "90 days", key: "q" },
  { value: "mtd", name: "Month", key: "d" },
  { value: "12m", name: "12 months", key: "y" },
];

/** Renders a link to each period, between those to the one before and the one after. */
export function renderPeriodSwitch(
  shown: UsageQuery["period"],
  clock: PageClock,
  hrefOf: (period: UsageQuery["period"]) => string,
): Html {
  const steps = renderPeriodSteps(shown, clock, hrefOf);
  const links = PERIODS.map(({ value, name, key }) => {
    const period = value as UsagePeriodName;
    return html`<li><a id="period-${value}" href="${hrefOf(period)}" data-key="${key}" title="${PERIOD_NAMES[period]}"${shown === value ? html` aria-current="true"` : ""}>${name}</a></li>`;
  });
  return html`<nav aria-label="Period"><ul class="switch">${steps.previous}${links}${steps.next}</ul></nav>`;
}

/** The values of `period`, the default first. */
export const PERIOD_VALUES: readonly string[] = ["30d", "today", "7d", "90d", "mtd", "month", "12m"];

/** Renders links that switch between the values of a key. */
export function renderSwitch(view: View, key: string, label: string, choices: readonly Choice[]): Html {
  return html`<nav aria-label="${label}"><ul class="switch">${choices.map(
    ({ value, name }) =>
      html`<li><a id="${key}-${value}" href="${viewHref(view, { values: { [key]: value } })}"${view.values[key] === value ? html` aria-current="true"` : ""}>${name}</a></li>`,
  )}</ul></nav>`;
}

/** Renders the periods, between the links to the one before and the one after. */
export function renderPeriods(view: View, clock: PageClock): Html {
  const { from = "", to = "", period = "" } = view.values;
  const hrefOf = (each: UsageQuery["period"]) =>
    viewHref(view, {
      values:
        typeof each === "string"
          ? { period: each, from: "", to: "" }
          : { period: "", from: each.from, to: each.to ?? "" },
    });
  const shown = from === "" ? (period as UsagePeriodName) : { from, to: to === "" ? null : to };
  return renderPeriodSwitch(shown, clock, hrefOf);
}

/** A menu of a form: the values that a filter or key can have. */
export interface Menu {
  readonly name: string;
  readonly label: string;
  readonly choices: readonly Choice[];
  readonly selected: string;
}

/** Renders menus as a form that loads the view. The rest of the view is kept in hidden fields. */
export function renderMenus(view: View, menus: readonly Menu[]): Html {
  const names = menus.map(({ name }) => name);
  const kept = [...viewParameters(view, { values: {} })].filter(([name]) => !names.includes(name));
  return html`<form class="bar" method="get" action="${pageHref(view.base, view.spec.path)}">
    ${kept.map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`)}
    ${menus.map(
      ({ name, label, choices, selected }) =>
        html`<label>${label} <select id="menu-${name}" name="${name}">${choices.map(({ value, name: text }) => html`<option value="${value}"${value === selected ? html` selected` : ""}>${text}</option>`)}</select></label>`,
    )}
    <button>Show</button>
  </form>`;
}

/** Returns the name of a filter's value that is an ID; null if the value is its own name. */
export type NameOfValue = (filter: string, value: string) => string | null;

const isOwnName: NameOfValue = () => null;

/** Filters of one name that select or exclude values. */
interface FilterGroup {
  readonly name: string;
  readonly excludes: boolean;
  readonly values: readonly string[];
}

const groupFilters = (filters: readonly ViewFilter[]): FilterGroup[] =>
  [...Map.groupBy(filters, ({ name, excludes }) => `${name} ${excludes}`).values()].map((group) => ({
    name: group[0]?.name ?? "",
    excludes: group[0]?.excludes ?? false,
    values: group.map(({ value }) => value),
  }));

/** Renders the filters: those of one name together, with a link that removes them and one that inverts them. */
export function renderChips(view: View, nameOf: NameOfValue = isOwnName): Html | "" {
  if (view.filters.length === 0) return "";
  const groups = groupFilters(view.filters);
  return html`<div class="bar" role="group" aria-label="Filters">${groups.map((group) => renderChip(view, group, nameOf))}${groups.length > 1 ? html`<a href="${viewHref(view, { filters: [] })}">Remove all</a>` : ""}</div>`;
}

function renderChip(view: View, { name, excludes, values }: FilterGroup, nameOf: NameOfValue): Html {
  const isOwn = (each: ViewFilter) => each.name === name && each.excludes === excludes;
  const others = view.filters.filter((each) => !isOwn(each));
  const inverted = view.filters.map((each) => (isOwn(each) ? { ...each, excludes: !excludes } : each));
  const verb = excludes ? "is not" : "is";
  const label = filterName(name);
  return html`<span class="chip"><span>${label} ${view.spec.areUsage === true ? html`<a class="turn" href="${viewHref(view, { filters: inverted })}" aria-label="${label} ${verb}: invert the filter">${verb}</a>` : verb} ${values.map((value, at) => html`${at > 0 ? " or " : ""}<bdi>${nameFilterValue(name, value, nameOf)}</bdi>`)}</span><a class="drop" href="${viewHref(view, { filters: others })}" aria-label="Remove the filter ${label}">×</a></span>`;
}

/** Renders notices about the unknown parts of the address. */
export const renderViewNotices = ({ notices }: View): Html | "" => renderNotes(notices);
