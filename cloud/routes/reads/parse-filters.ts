import type { UsageFilter, UsageNotice } from "../../../core/pricing/view/usage-query.ts";
import { problem } from "../../http/problem.ts";
import type { OrRefusal } from "../../http/read-payload.ts";
import { isCloudDimension } from "../../store/reads/usage-sources.ts";

/** Returns the query of a list. What it can't have, and a filter that a cloud does not have, are refused. */
export function parseFilters<Query extends { readonly filters: readonly UsageFilter[] }>({
  query,
  notices,
}: {
  readonly query: Query;
  readonly notices: readonly UsageNotice[];
}): OrRefusal<Query> {
  const unknown = query.filters.filter(({ dimension }) => !isCloudDimension(dimension));
  const errors = [
    ...notices.map(({ key, problem: text }) => ({ field: key, problem: text })),
    ...unknown.map(({ dimension }) => ({ field: dimension, problem: "The cloud does not receive it." })),
  ];
  return errors.length === 0
    ? { ok: true, value: query }
    : { ok: false, refusal: problem("wrong_shape", { errors }) };
}
