import type { UsageQuery } from "../../core/pricing/view/usage-query.ts";
import type { UsageView, UsageViewSpec } from "../usage-view.ts";

export const EXPLORE_VIEW: UsageViewSpec = {
  path: "/explore",
  defaults: { by: "project", thenBy: "model", top: 10 },
  own: { view: ["table", "chart"], cumulative: ["no", "yes"] },
};

/** How the view shows its sums. */
export interface ExploreForm {
  readonly isChart: boolean;
  /** Whether each bucket has the sum since the period began. */
  readonly isCumulative: boolean;
  /** Whether it has buckets: a chart always, a table if they are asked for. They take the place of the second dimension. */
  readonly hasTimes: boolean;
}

/** Returns how a view shows its sums. */
export function exploreForm({ own, query }: Pick<UsageView, "own" | "query">): ExploreForm {
  const isChart = own.view === "chart";
  const isCumulative = own.cumulative === "yes";
  const isAsked = query.bucket !== "auto" && query.bucket !== "none";
  return { isChart, isCumulative, hasTimes: isChart || isCumulative || isAsked };
}

/** Returns the query that the view answers. */
export function exploreQuery(view: Pick<UsageView, "own" | "query">): UsageQuery {
  const { query } = view;
  if (!exploreForm(view).hasTimes) return { ...query, bucket: "none" };
  return { ...query, thenBy: null, bucket: query.bucket === "none" ? "auto" : query.bucket };
}
