import * as v from "valibot";
import { costSum, count, instant, maybe } from "./fields.ts";
import { ANALYTICS_DIMENSIONS } from "./queries.ts";
import { usageTotalsSchema } from "./usage-totals.ts";

/** The period of a response: half-open `[from, to)`, after clamping. */
const period = {
  from: instant,
  to: instant,
  /** The requested `from`, if the retention floor moved it. */
  clamped_from: maybe(instant),
};

/** The totals of one time bucket. */
const bucket = v.object({ start: instant, ...usageTotalsSchema.entries });

/** The totals of one project, model, provider, machine or person. `key` is its id, `label` its display name. */
const group = v.object({ key: maybe(v.string()), label: v.string(), ...usageTotalsSchema.entries });

/** The response of `…/overview`. */
export const overviewSchema = v.object({
  ...period,
  totals: usageTotalsSchema,
  days: v.array(bucket),
  /** Sorted by cost, highest first. */
  projects: v.array(group),
  models: v.array(group),
  /**
   * The models with the most unpriced requests for which the cloud has no rate, most requests first. Older clouds do not state
   * them.
   */
  unpriced_models: maybe(v.array(v.object({ provider: v.string(), model: v.string(), requests: count }))),
});

/** The totals of a period by day, project and model. */
export type Overview = v.InferOutput<typeof overviewSchema>;

/** The response of `…/analytics?by&bucket`. */
export const analyticsSchema = v.object({
  ...period,
  by: v.picklist(ANALYTICS_DIMENSIONS),
  bucket: v.picklist(["hour", "day"]),
  totals: usageTotalsSchema,
  /** Sorted by cost, highest first. Each lists the buckets in which it has requests, oldest first. */
  groups: v.array(v.object({ ...group.entries, buckets: v.array(bucket) })),
});

/** The totals of a period by group and time bucket. */
export type Analytics = v.InferOutput<typeof analyticsSchema>;

/**
 * The response of `…/optimisation`. Decision: a finding has a kind, the provider, model and project it applies to, the
 * affected requests, what was spent on them, and the possible saving of it, which is `null` if it cannot be computed. The cost
 * of requests with unknown billing is apart; older clouds do not state it.
 */
export const optimisationSchema = v.object({
  ...period,
  findings: v.array(
    v.object({
      /** A stable code, such as `repeated_prompt_uncached`. */
      kind: v.string(),
      provider: maybe(v.string()),
      model: maybe(v.string()),
      project: maybe(v.string()),
      requests: count,
      cost_pico_usd: costSum,
      unknown_billing_pico_usd: maybe(costSum),
      saving_pico_usd: maybe(costSum),
      /** A sentence for people. */
      summary: v.string(),
    }),
  ),
});
