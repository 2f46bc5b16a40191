import { type CoverageKind, coverageKinds } from "./coverage-kinds.ts";
import { MISSING_KINDS } from "./coverage-summary.ts";

/** The values to keep, or with `not`, to leave out. */
export interface ValueFilter {
  readonly not: boolean;
  readonly values: readonly string[];
}

/** Reads the filter of a name from the parameters of an address: `host` may repeat, and `host.not` excludes. Null without any. */
export function readValueFilter(
  parameters: Iterable<readonly [key: string, value: string]>,
  name: string,
): ValueFilter | null {
  const only: string[] = [];
  const except: string[] = [];
  for (const [key, value] of parameters) {
    if (key === name) only.push(value);
    if (key === `${name}.not`) except.push(value);
  }
  if (only.length > 0) return { not: false, values: only.filter((value) => !except.includes(value)) };
  return except.length > 0 ? { not: true, values: except } : null;
}

/** What the value of a filter by kind must be. */
export const EXPECTED_KIND = "Expected a kind of calls, such as metered or unknown_path.";

/** Whether a text is a kind that counters have. */
export const isCoverageKind = (text: string): boolean => coverageKinds.some((kind) => kind === text);

/** Whether the filters by kind of an address have only known values. */
export const hasKnownKinds = (parameters: Iterable<readonly [key: string, value: string]>): boolean =>
  [...parameters].every(([key, value]) => (key !== "kind" && key !== "kind.not") || isCoverageKind(value));

/** Prints a filter as parameters of an address. The inverse of `readValueFilter()`, but a filter that nothing passes has none. */
export const printValueFilter = (name: string, filter: ValueFilter | null): [key: string, value: string][] =>
  (filter?.values ?? []).map((value) => [filter?.not === true ? `${name}.not` : name, value]);

/** Whether a value passes a filter. */
export const passes = (filter: ValueFilter | null, value: string): boolean =>
  filter === null || filter.values.includes(value) !== filter.not;

/** Which of the counters that make up the seen calls a filter of kinds leaves. */
export interface KindSelection {
  readonly hasMetered: boolean;
  /** The kinds of missed calls that are counted; with `not`, those that are not. */
  readonly missing: { readonly not: boolean; readonly kinds: readonly CoverageKind[] };
}

/** Returns what a filter of kinds leaves of the seen calls. */
export function selectKinds(filter: ValueFilter): KindSelection {
  return {
    hasMetered: passes(filter, "metered"),
    missing: { not: filter.not, kinds: MISSING_KINDS.filter((kind) => filter.values.includes(kind)) },
  };
}
