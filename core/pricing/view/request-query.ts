import { joinQueries } from "../../values/text/query-string.ts";
import { isStorableText } from "../../wire/characters.ts";
import { MAX_SEARCH, REQUEST_SORTS, type RequestSort } from "../../wire/queries.ts";
import { USAGE_DIMENSIONS, type UsageDimension } from "../../wire/usage.ts";
import {
  DEFAULT_USAGE_QUERY,
  parseUsageQuery,
  printUsageQuery,
  UNSTORABLE_TEXT,
  type UsageFilter,
  type UsageNotice,
} from "./usage-query.ts";

/** Which requests a list contains, and in which order. */
export interface RequestQuery {
  /** The filters of the usage query. */
  readonly filters: readonly UsageFilter[];
  /** A text that the project, branch, model, provider, program or error contains, ignoring case. Null matches all requests. */
  readonly text: string | null;
  readonly sort: RequestSort;
}

/** The dimensions of values of `status` that are not values of the usage query's `status`. */
const STATUSES: Readonly<Record<string, UsageDimension>> = { unpriced: "cost", incomplete: "tokens" };

/**
 * Converts a parameter of a list of requests to one of the usage query. In a list, `status` may also be an HTTP status, `unpriced` or
 * `incomplete`, and `user` is the person.
 */
export function toUsageParameter([key, value]: readonly [key: string, value: string]): [string, string] {
  const [name = "", ...not] = key.split(/(?=\.not$)/);
  const named = (dimension: UsageDimension): [string, string] => [[dimension, ...not].join(""), value];
  if (name === "http" || (name === "status" && /^[1-9]\d\d$/.test(value))) return named("http_status");
  if (name === "user") return named("person");
  return named((name === "status" ? STATUSES[value] : undefined) ?? (name as UsageDimension));
}

/** Whether a parameter is a filter of the usage query. */
export const isUsageFilter = (key: string): boolean =>
  USAGE_DIMENSIONS.some((dimension) => key === dimension || key === `${dimension}.not`);

/** The parameters of a list, with the names of the usage query, and the filters among them. */
export interface ListParameters {
  readonly given: ReadonlyMap<string, string>;
  readonly filters: readonly UsageFilter[];
  readonly notices: readonly UsageNotice[];
}

/** Parses the filters of a list. */
export function parseListFilters(
  parameters: Iterable<readonly [key: string, value: string]>,
): ListParameters {
  const named = [...parameters].map(toUsageParameter);
  const { query, notices } = parseUsageQuery(named.filter(([key]) => isUsageFilter(key)));
  return { given: new Map(named), filters: query.filters, notices };
}

/** Prints the filters of a list as a query string. The inverse of `parseListFilters()`. */
export const printListFilters = (filters: readonly UsageFilter[]): string =>
  printUsageQuery({ ...DEFAULT_USAGE_QUERY, filters });

/** Parses the filters, `q` and `sort` of a list of requests. Other parameters are left to the caller. */
export function parseRequestQuery(parameters: Iterable<readonly [key: string, value: string]>): {
  readonly query: RequestQuery;
  readonly notices: readonly UsageNotice[];
} {
  const { given, filters, ...parsed } = parseListFilters(parameters);
  const notices = [...parsed.notices];
  const stated = given.get("q") || null;
  const text = stated === null || isStorableText(stated) ? stated : null;
  if (text !== stated) notices.push({ key: "q", problem: UNSTORABLE_TEXT });
  if (text !== null && text.length > MAX_SEARCH)
    notices.push({ key: "q", problem: `At most ${MAX_SEARCH} characters.` });
  const sort = REQUEST_SORTS.find((each) => each === (given.get("sort") ?? "time"));
  if (sort === undefined) notices.push({ key: "sort", problem: `Expected ${REQUEST_SORTS.join(", ")}.` });
  return {
    query: {
      filters,
      text: text === null ? null : text.slice(0, MAX_SEARCH),
      sort: sort ?? "time",
    },
    notices,
  };
}

/** Prints a query as the query string of a URL, without default values. The inverse of `parseRequestQuery()`. */
export function printRequestQuery({ filters, text, sort }: RequestQuery): string {
  return joinQueries(
    printListFilters(filters),
    text === null ? "" : `q=${encodeURIComponent(text.toWellFormed())}`,
    sort === "time" ? "" : `sort=${sort}`,
  );
}
