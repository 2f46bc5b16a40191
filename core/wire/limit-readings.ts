import * as v from "valibot";
import { count, identifier, instant, maybe, name, text } from "./fields.ts";

/** Maximum number of readings in one upload: more windows than a machine keeps of its accounts. */
export const MAX_LIMIT_READINGS = 500;

/** The latest reading of one window of an account's limit. Counts are whole; null is unknown. */
const entries = {
  provider: name(64),
  /** A keyed hash that distinguishes the accounts of one machine. */
  account: maybe(text(64)),
  window: name(64),
  /** The models or the feature that the window is limited to; null for all. */
  scope: maybe(text(128)),
  unit: name(32),
  window_ms: maybe(count),
  /** The used share in millionths. */
  used_ppm: maybe(count),
  limit: maybe(count),
  remaining: maybe(count),
  reset_at: maybe(instant),
  status: maybe(text(32)),
  seen_at: instant,
};

/** A reading as a machine sends it. */
const limitReadingSchema = v.object(entries);
export type WireLimitReading = v.InferOutput<typeof limitReadingSchema>;

/** The request of `POST /v1/daemon/limits`. A reading replaces an older one of the same window. */
export const limitsUploadSchema = v.object({
  daemon_version: name(64),
  readings: v.pipe(
    v.array(limitReadingSchema),
    v.minLength(1, `must contain 1 to ${MAX_LIMIT_READINGS} readings`),
    v.maxLength(MAX_LIMIT_READINGS, `must contain 1 to ${MAX_LIMIT_READINGS} readings`),
  ),
});

/** The response to an upload. */
export const limitsUploadResponseSchema = v.object({ stored: count });

/** The response of `GET /v1/workspaces/:ws/limits`: the last seen first. */
export const limitsSchema = v.object({
  limits: v.array(
    v.object({ machine_id: identifier, machine_name: v.string(), user_id: maybe(identifier), ...entries }),
  ),
});
export type LimitsResponse = v.InferOutput<typeof limitsSchema>;
