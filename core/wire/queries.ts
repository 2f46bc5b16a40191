import * as v from "valibot";
import { BILLING_MODES } from "../values/record-fields.ts";
import { identifier, maybe, text, uuid } from "./fields.ts";

/** Default number of entries per page. Decision: about what a screen shows. */
export const PAGE_SIZE_DEFAULT = 50;

/** Maximum number of entries per page. Decision: what one query can return quickly. */
export const PAGE_SIZE_MAX = 200;

/** A date or datetime. `readPeriod` in `core/privacy/retention` parses it and rejects it with specific codes. */
const edge = maybe(text(40));

const cursor = maybe(text(512));

/** The page size of a query string. */
const limit = v.optional(
  v.pipe(
    v.string(),
    v.regex(/^[1-9]\d{0,2}$/, `must be a number from 1 to ${PAGE_SIZE_MAX}`),
    v.transform(Number),
    v.maxValue(PAGE_SIZE_MAX, `must be a number from 1 to ${PAGE_SIZE_MAX}`),
  ),
  String(PAGE_SIZE_DEFAULT),
);

const bodyVersion = maybe(
  v.pipe(v.string(), v.regex(/^[1-9]\d{0,3}$/, "must be a number from 1 to 9999"), v.transform(Number)),
);

/** The query of `…/overview` and `…/optimisation`. */
export const periodQuerySchema = v.object({ from: edge, to: edge });

/** The query of `…/coverage`: a period, the zone of its days, and filters. They may repeat, and exclude (`kind.not`). */
export const coverageQuerySchema = v.object({
  from: edge,
  to: edge,
  tz: maybe(text(64)),
  machine: maybe(identifier),
  kind: maybe(text(64)),
});

/** The dimensions of analytics. The last four are those of sessions, and of Git: they are null in records of older daemons. */
export const ANALYTICS_DIMENSIONS = [
  "project",
  "model",
  "provider",
  "machine",
  "user",
  "session",
  "agent",
  "branch",
  "client",
] as const;

/** The query of `…/analytics`. */
export const analyticsQuerySchema = v.object({
  from: edge,
  to: edge,
  by: v.picklist(ANALYTICS_DIMENSIONS),
  bucket: v.optional(v.picklist(["hour", "day"]), "day"),
});

/** A query for analytics. */
export type AnalyticsQuery = v.InferOutput<typeof analyticsQuerySchema>;

/** The orders of a list of requests: by time, cost, tokens in and out, or duration, with the highest first. */
export const REQUEST_SORTS = ["time", "cost", "tokens", "ms"] as const;
export type RequestSort = (typeof REQUEST_SORTS)[number];

/** The longest text to search for, in UTF-16 code units. */
export const MAX_SEARCH = 256;

/**
 * The query of `…/traces` and `…/audit/requests`. Decision: `status` is `ok`, `failed`, `blocked`, `unpriced`, `incomplete` or one HTTP
 * status. `parseRequestQuery()` in `core/pricing/view` reads the filters. They may repeat, and include those of the usage query.
 */
export const tracesQuerySchema = v.object({
  from: edge,
  to: edge,
  project: maybe(text(64)),
  model: maybe(text(256)),
  provider: maybe(text(64)),
  status: maybe(
    v.pipe(
      v.string(),
      v.regex(
        /^(?:ok|failed|blocked|unpriced|incomplete|[1-9]\d\d)$/,
        "must be ok, failed, blocked, unpriced, incomplete or an HTTP status",
      ),
    ),
  ),
  billing: maybe(v.picklist(BILLING_MODES)),
  session: maybe(text(64)),
  machine: maybe(uuid),
  user: maybe(identifier),
  /** A text to search for in names. */
  q: maybe(v.pipe(v.string(), v.maxLength(MAX_SEARCH))),
  sort: maybe(v.picklist(REQUEST_SORTS)),
  cursor,
  limit,
});

/** The orders of a list of sessions: by the latest call, what was spent, the number of calls, or the time from first to last. */
export const SESSION_SORTS = ["latest", "cost", "calls", "length"] as const;
export type SessionSort = (typeof SESSION_SORTS)[number];

/**
 * The query of `…/sessions`. `parseSessionQuery()` in `core/pricing/view` reads the filters. They may repeat, exclude (`model.not`), and
 * include those of the usage query.
 */
export const sessionsQuerySchema = v.object({
  from: edge,
  to: edge,
  sort: v.optional(v.picklist(SESSION_SORTS), "latest"),
  project: maybe(text(64)),
  branch: maybe(text(256)),
  model: maybe(text(256)),
  provider: maybe(text(64)),
  status: maybe(text(16)),
  kind: maybe(text(16)),
  machine: maybe(uuid),
  user: maybe(identifier),
  /** In USD: what was spent, or what a plan covered, in the period. */
  min_cost: maybe(text(40)),
  limit,
});

/**
 * The query of `GET /v1/traces/{request_id}/body`. `workspace_id` is needed if several workspaces have the request. To view
 * a teammate's body, send a `reason` (or the header `X-Prompt-View-Reason`) or the `view_id` of a recorded view. Each
 * version defaults to the latest one.
 */
export const traceBodyQuerySchema = v.object({
  workspace_id: maybe(identifier),
  reason: maybe(v.string()),
  view_id: maybe(identifier),
  request_version: bodyVersion,
  response_version: bodyVersion,
});

/** The query of `GET …/audit/prompt-views`. */
export const promptViewsQuerySchema = v.object({
  from: edge,
  to: edge,
  viewer: maybe(identifier),
  subject: maybe(identifier),
  cursor,
  limit,
});

/** The query of `GET …/audit/events`. */
export const auditEventsQuerySchema = v.object({ from: edge, to: edge, cursor, limit });

/** The query of `…/daemon-totals`. `readDateWindow` in `core/privacy/retention` parses the dates and rejects datetimes. */
export const daemonTotalsQuerySchema = v.object({ from_date: text(40), to_date: text(40) });
