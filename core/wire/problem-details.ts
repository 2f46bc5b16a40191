import * as v from "valibot";
import { maybe } from "./fields.ts";

/** The media type of every error. Source: RFC 9457, section 3; decisions, "Cloud: people, keys, plans". */
export const PROBLEM_MEDIA_TYPE = "application/problem+json";

/** An error: `code` is stable and for programs, `detail` for people; the last three go with the codes that need them. */
export const problemSchema = v.object({
  type: v.optional(v.string(), "about:blank"),
  title: maybe(v.string()),
  status: v.pipe(v.number(), v.integer()),
  code: v.string(),
  detail: maybe(v.string()),
  /** With `plan_required`. */
  required_plan: maybe(v.string()),
  /** With `period_before_floor`: the earliest `from` that is answered. */
  floor: maybe(v.string()),
  /** What was wrong with the payload, field by field. */
  errors: maybe(v.array(v.object({ field: v.string(), problem: v.string() }))),
});

/** An RFC 9457 problem, read. */
export type Problem = v.InferOutput<typeof problemSchema>;
