import * as v from "valibot";
import { maybe } from "./fields.ts";

/** The media type of every error response. Source: RFC 9457, section 3; docs/specification.md#cloud-accounts-and-keys. */
export const PROBLEM_MEDIA_TYPE = "application/problem+json";

/** An error response: `code` is stable and for programs, `detail` is for people. The last three fields depend on the code. */
export const problemSchema = v.object({
  type: v.optional(v.string(), "about:blank"),
  title: maybe(v.string()),
  status: v.pipe(v.number(), v.integer()),
  code: v.string(),
  detail: maybe(v.string()),
  /** Sent with `plan_required`. */
  required_plan: maybe(v.string()),
  /** Sent with `period_before_floor`: the earliest valid `from`. */
  floor: maybe(v.string()),
  /** The problems of the payload, one per field. */
  errors: maybe(v.array(v.object({ field: v.string(), problem: v.string() }))),
});

/** A parsed RFC 9457 problem. */
export type Problem = v.InferOutput<typeof problemSchema>;
