import { formatCount } from "../../values/text/format-count.ts";
import { joinQueries } from "../../values/text/query-string.ts";
import { SESSION_SORTS, type SessionSort } from "../../wire/queries.ts";
import type { CostSplit } from "../cost-split.ts";
import { parseDecimalToPico } from "../decimal.ts";
import { formatPicoUsd, MAX_COST_PICO_USD } from "../money.ts";
import { parseListFilters, printListFilters } from "./request-query.ts";
import type { UsageFilter, UsageNotice } from "./usage-query.ts";

/** Which sessions a list contains, and in which order. Both are decided by the calls of the period that match the filters. */
export interface SessionListQuery {
  /** The filters of the usage query. A session is listed if one of its calls matches all of them. */
  readonly filters: readonly UsageFilter[];
  /** What its calls cost at least, as `hasCost()`. Null lists all sessions. */
  readonly minPicoUsd: bigint | null;
  readonly sort: SessionSort;
}

/**
 * Whether a session cost at least an amount. What was spent and what a plan covered are never added up, so one of the parts must reach
 * it.
 */
export const hasCost = (split: CostSplit, minPicoUsd: bigint): boolean =>
  Object.values(split).some((picoUsd) => picoUsd >= minPicoUsd);

/** Says how many sessions a minimum cost leaves out because a call has no known cost. */
export const describeUnknownCosts = (sessions: number): string =>
  sessions === 1
    ? "1 session may cost more: a call has no known price. It is left out."
    : `${formatCount(sessions)} sessions may cost more: calls have no known price. They are left out.`;

/** Parses the filters, `min_cost` (in USD) and `sort` of a list of sessions. Other parameters are left to the caller. */
export function parseSessionQuery(parameters: Iterable<readonly [key: string, value: string]>): {
  readonly query: SessionListQuery;
  readonly notices: readonly UsageNotice[];
} {
  const { given, filters, ...parsed } = parseListFilters(parameters);
  const notices = [...parsed.notices];
  const stated = given.get("min_cost") || "0";
  const minPicoUsd = parseDecimalToPico(stated);
  const isAmount = minPicoUsd !== null && minPicoUsd >= 0n && minPicoUsd <= MAX_COST_PICO_USD;
  if (!isAmount) notices.push({ key: "min_cost", problem: "Expected an amount in USD, such as 1.50." });
  const sort = SESSION_SORTS.find((each) => each === (given.get("sort") ?? "latest"));
  if (sort === undefined) notices.push({ key: "sort", problem: `Expected ${SESSION_SORTS.join(", ")}.` });
  return {
    query: {
      filters,
      minPicoUsd: isAmount && minPicoUsd > 0n ? minPicoUsd : null,
      sort: sort ?? "latest",
    },
    notices,
  };
}

/** Prints a query as the query string of a URL, without default values. The inverse of `parseSessionQuery()`. */
export function printSessionQuery({ filters, minPicoUsd, sort }: SessionListQuery): string {
  return joinQueries(
    printListFilters(filters),
    minPicoUsd === null ? "" : `min_cost=${formatPicoUsd(minPicoUsd)}`,
    sort === "latest" ? "" : `sort=${sort}`,
  );
}
