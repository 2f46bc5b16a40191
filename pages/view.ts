import { pageHref } from "./page-place.ts";

/** A filter of a view. A filter that excludes is written `project.not=…`. */
export interface ViewFilter {
  readonly name: string;
  readonly value: string;
  readonly excludes: boolean;
}

/** The parameters that a page's address can have. */
export interface ViewSpec {
  /** The path of the page. */
  readonly path: string;
  /** The keys with one value: their default first. An empty list allows any text, and its default is "". */
  readonly keys: Readonly<Record<string, readonly string[]>>;
  /** The names of filters. */
  readonly filters: readonly string[];
  /** Whether filters are those of the usage query: they can exclude, and the empty value means that it is unknown. */
  readonly areUsage?: boolean;
}

/** A page's state, all of which its address has. */
export interface View {
  readonly spec: ViewSpec;
  /** What the pages of the host are below. */
  readonly base: string;
  /** The value of each key, its default included. */
  readonly values: Readonly<Record<string, string>>;
  readonly filters: readonly ViewFilter[];
  /** The unknown parts of the address, as sentences. */
  readonly notices: readonly string[];
}

/** The longest value, which is the longest stored name. */
const MAX_VALUE = 256;

/** The most filters of one view. */
const MAX_FILTERS = 20;

/** Keys that are read elsewhere. */
const OTHER_KEYS = ["format"];

const NOT = ".not";

/** Reads a view from the parameters of an address. Unknown parameters become notices. */
export function readView(spec: ViewSpec, parameters: URLSearchParams, base = ""): View {
  const values: Record<string, string> = {};
  for (const [key, choices] of Object.entries(spec.keys)) values[key] = choices[0] ?? "";
  const filters: ViewFilter[] = [];
  const notices: string[] = [];
  for (const [key, value] of parameters) {
    const choices = spec.keys[key];
    const excludes = key.endsWith(NOT);
    const name = excludes ? key.slice(0, -NOT.length) : key;
    const isFilter = spec.filters.includes(name) && (spec.areUsage === true || !excludes);
    const shown = value.slice(0, MAX_VALUE);
    if (choices !== undefined) {
      if (value.length <= MAX_VALUE && (choices.length === 0 || choices.includes(value))) values[key] = value;
      else notices.push(`“${shown}” is not a value of “${key}”. Expected: ${choices.join(", ")}.`);
    } else if (isFilter && (spec.areUsage === true || value !== "")) {
      if (value.length <= MAX_VALUE && filters.length < MAX_FILTERS) filters.push({ name, value, excludes });
      else notices.push(`The filter “${name}” is left out: too long, or more than ${MAX_FILTERS} filters.`);
    } else if (value !== "" && !OTHER_KEYS.includes(key)) {
      notices.push(`This page has no “${key.slice(0, MAX_VALUE)}”. It is left out.`);
    }
  }
  return { spec, base, values, filters, notices };
}

/**
 * The change that makes another view: new values of keys, and new filters. Any change but that of the cursor returns to
 * the first page.
 */
export interface ViewChange {
  readonly values?: Readonly<Record<string, string>>;
  readonly filters?: readonly ViewFilter[];
  /** Another page. Values and filters that it does not have are dropped. */
  readonly spec?: ViewSpec;
}

/** Returns the parameters of a view with a change. Defaults are omitted. */
export function viewParameters(view: View, change: ViewChange = {}): URLSearchParams {
  const spec = change.spec ?? view.spec;
  const kept: Record<string, string> = { ...view.values, ...change.values };
  if (change.values?.cursor === undefined && (change.values ?? change.filters ?? change.spec) !== undefined)
    kept.cursor = "";
  const parameters = new URLSearchParams();
  for (const [key, choices] of Object.entries(spec.keys)) {
    const value = kept[key];
    const isKnown = value !== undefined && (choices.length === 0 || choices.includes(value));
    if (isKnown && value !== (choices[0] ?? "")) parameters.set(key, value);
  }
  for (const { name, value, excludes } of change.filters ?? view.filters)
    if (spec.filters.includes(name)) parameters.append(excludes ? `${name}${NOT}` : name, value);
  return parameters;
}

/** Returns the address of a view with a change. */
export function viewHref(view: View, change: ViewChange = {}): string {
  const parameters = viewParameters(view, change).toString();
  const path = pageHref(view.base, (change.spec ?? view.spec).path);
  return parameters === "" ? path : `${path}?${parameters}`;
}

/** Returns the addresses of a view as a file. */
export function filesOf(view: View): { readonly csv: string; readonly json: string } {
  const file = (format: string) =>
    `${pageHref(view.base, view.spec.path)}?${new URLSearchParams([...viewParameters(view), ["format", format]])}`;
  return { csv: file("csv"), json: file("json") };
}

/** Returns the filters with one more, in place of others of its name. */
export const withFilter = (filters: readonly ViewFilter[], name: string, value: string): ViewFilter[] => [
  ...filters.filter((each) => each.name !== name),
  { name, value, excludes: false },
];

/** Returns the value of the only filter with a name; undefined if there is none. */
export const filterValue = (view: View, name: string): string | undefined =>
  view.filters.find((each) => each.name === name && !each.excludes)?.value;
