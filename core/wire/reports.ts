import * as v from "valibot";
import { costSum, count, instant, maybe } from "./fields.ts";
import { usageTotalsSchema } from "./usage-totals.ts";

/** The period of an answer: half-open `[from, to)`, after any clamp. */
const period = {
  from: instant,
  to: instant,
  /** The `from` that was asked for, where the retention floor moved it up. */
  clamped_from: maybe(instant),
};

/** What was used from one instant to the next. */
const bucket = v.object({ start: instant, ...usageTotalsSchema.entries });

/** What was used by one project, model, provider, machine or person. `key` refers, `label` is for people. */
const group = v.object({ key: maybe(v.string()), label: v.string(), ...usageTotalsSchema.entries });

/** `…/overview`. */
export const overviewSchema = v.object({
  ...period,
  totals: usageTotalsSchema,
  days: v.array(bucket),
  /** The costliest first. */
  projects: v.array(group),
  models: v.array(group),
});

/** A period at a glance. */
export type Overview = v.InferOutput<typeof overviewSchema>;

/** `…/analytics?by&bucket`. */
export const analyticsSchema = v.object({
  ...period,
  by: v.picklist(["project", "model", "provider", "machine", "user"]),
  bucket: v.picklist(["hour", "day"]),
  totals: usageTotalsSchema,
  /** The costliest first; each with the buckets in which it has requests, oldest first. */
  groups: v.array(v.object({ ...group.entries, buckets: v.array(bucket) })),
});

/** A period taken apart. */
export type Analytics = v.InferOutput<typeof analyticsSchema>;

/**
 * `…/optimisation`. Decision: a finding names its kind, where it applies, the requests and cost that it is about, and what
 * could be saved, `null` where that would be a guess.
 */
export const optimisationSchema = v.object({
  ...period,
  findings: v.array(
    v.object({
      /** A stable word, such as `repeated_prompt_uncached`. */
      kind: v.string(),
      provider: maybe(v.string()),
      model: maybe(v.string()),
      project: maybe(v.string()),
      requests: count,
      cost_pico_usd: costSum,
      saving_pico_usd: maybe(costSum),
      /** In words, for people. */
      summary: v.string(),
    }),
  ),
});

/** Where money could be saved. */
export type Optimisation = v.InferOutput<typeof optimisationSchema>;
