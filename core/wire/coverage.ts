import * as v from "valibot";
import { HOUR_MS } from "../values/time.ts";
import { count, identifier, instant, maybe, name } from "./fields.ts";
import { parseInstant } from "./instant.ts";

/** The maximum number of hours, and of running times, in one upload. */
export const MAX_COVERAGE_ITEMS = 500;

/** The maximum number of kinds in one hour. There are fewer today. */
const MAX_KINDS = 64;

/** A count of one kind, such as `unknown_path` or `without_usage`. A newer daemon may send kinds that this version does not know. */
const kindCount = { kind: name(64), count };

const hour = v.pipe(
  instant,
  v.check((value) => (parseInstant(value) ?? 0) % HOUR_MS === 0, "must be a whole hour in UTC"),
);

const span = { from: instant, to: instant };

const list = <const Schema extends v.GenericSchema>(item: Schema) =>
  v.pipe(v.array(item), v.maxLength(MAX_COVERAGE_ITEMS, `must contain at most ${MAX_COVERAGE_ITEMS} items`));

/**
 * What a machine counted in one hour, over all hosts. `seen` is `metered` plus what was missed. `counts` has what was missed, and what
 * was metered only in part, by kind.
 */
const coverageHourSchema = v.object({
  hour,
  metered: count,
  seen: count,
  counts: v.pipe(
    v.array(v.object(kindCount)),
    v.maxLength(MAX_KINDS, `must contain at most ${MAX_KINDS} kinds`),
  ),
});
export type CoverageHour = v.InferOutput<typeof coverageHourSchema>;

/**
 * The request of `POST /v1/daemon/coverage`: how many calls were metered and what was missed, by hour, and when the daemon ran. It
 * names no host, path or project. An upload can be repeated: an hour replaces the stored hour, and a running time replaces the stored
 * one with the same start.
 */
export const coverageUploadSchema = v.object({
  daemon_version: name(64),
  /** When the machine counted. */
  as_of: instant,
  /** How many requests wait to be sent. */
  queued: maybe(count),
  hours: list(coverageHourSchema),
  runs: list(v.object(span)),
});
export type CoverageUpload = v.InferOutput<typeof coverageUploadSchema>;

/** The response to an upload. */
export const coverageUploadResponseSchema = v.object({ stored: count });

/** Sums of a period. `permille`: tenths of a percent, rounded down (1000 is all); null if nothing was seen. */
const sums = { metered: count, seen: count, permille: maybe(count) };

/** The coverage of one machine. */
const machineCoverage = v.object({
  machine_id: identifier,
  machine_name: v.string(),
  /**
   * `current`: it has reported until now, or until it was last seen. `stale`: it was seen later, without a report. `unknown`: it has
   * never reported any.
   */
  state: v.picklist(["current", "stale", "unknown"]),
  /** Whether it had requests in the period whose coverage is not known. */
  has_unknown_requests: v.boolean(),
  /** The end of its last report. */
  reported_at: maybe(instant),
  /** How many requests waited to be sent at that time. */
  queued: maybe(count),
  ...sums,
  counts: v.array(v.object({ ...kindCount, last_seen_at: instant })),
  /** The times in which the daemon did not run, the earliest first. */
  gaps: v.array(v.object(span)),
});

/** The response of `GET /v1/workspaces/{ws}/coverage`: the coverage of each machine, and the sums of those that reported it. */
export const coverageSchema = v.object({
  from: v.string(),
  to: v.string(),
  /** The requested start, if it was before the retention floor. */
  clamped_from: maybe(v.string()),
  ...sums,
  /** How many machines have `has_unknown_requests`. The sums lack these requests. */
  unknown_machines: count,
  machines: v.array(machineCoverage),
  /**
   * The same sums by time, over all machines: hours up to a week, days up to 120 days, then weeks, in the zone that was asked for
   * (default: UTC). An hour counts where it begins. They add up to those above. An older cloud has none.
   */
  buckets: v.optional(
    v.array(
      v.object({
        ...span,
        label: v.string(),
        metered: count,
        seen: count,
        /** For how long no machine ran, in milliseconds; null if it is not known. */
        stopped_ms: maybe(count),
      }),
    ),
    [],
  ),
});
export type CoverageAnswer = v.InferOutput<typeof coverageSchema>;
