import * as v from "valibot";
import { SESSION_SOURCES } from "../values/record-fields.ts";
import { costSum, count, identifier, idHash, instant, maybe } from "./fields.ts";
import { traceSchema } from "./traces.ts";

const total = v.pipe(v.string(), v.regex(/^\d{1,38}$/, "must be a whole number"));

/** A session with the sums of its requests, as far back as the workspace's requests can be read. */
const sessionSchema = v.object({
  /** A keyed hash. No machine sends the ids of its programs. */
  session_id: idHash,
  session_source: maybe(v.picklist(SESSION_SOURCES)),
  /** What its latest request states. */
  project: maybe(v.string()),
  git_branch: maybe(v.string()),
  client_version: maybe(v.string()),
  user: v.object({ id: identifier, name: v.string() }),
  machine: maybe(v.object({ id: identifier, hostname: v.string() })),
  /** When its first request began. */
  started_at: instant,
  /** When its last request ended; when it began, if its duration was not sent. */
  ended_at: instant,
  /** The number of sub-agents. */
  agents: count,
  requests: count,
  failed_requests: count,
  /** Calls that a budget refused. They are in `requests`, and did not fail. Absent from answers of older versions. */
  blocked_requests: maybe(count),
  unpriced_requests: count,
  incomplete_requests: count,
  /** All input tokens, with those of caches; null if no request states any. */
  input_tokens: maybe(total),
  cache_read_tokens: maybe(total),
  spent_pico_usd: costSum,
  plan_usage_pico_usd: costSum,
  unknown_billing_pico_usd: costSum,
});

/** A session of a workspace. */
export type WorkspaceSession = v.InferOutput<typeof sessionSchema>;

/** The response of `…/sessions`: the session with the latest request first. */
export const sessionsSchema = v.object({
  from: instant,
  to: instant,
  items: v.array(sessionSchema),
  /** Whether the period has more sessions. A shorter period lists the others. */
  has_more: v.boolean(),
  /**
   * How many more sessions may have cost `min_cost`: they have a request without a known price. 0 without `min_cost`; absent from answers of
   * older versions.
   */
  unknown_cost_sessions: maybe(count),
});

/** The response of `…/sessions/{id}`: the session with its requests, the oldest first. */
export const sessionDetailSchema = v.object({
  session: sessionSchema,
  requests: v.array(traceSchema),
  /** Whether the session has more requests. `…/traces?session={id}` lists all. */
  has_more: v.boolean(),
});
