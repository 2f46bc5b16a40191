import * as v from "valibot";
import { identifier, maybe, text } from "./fields.ts";

/** Entries on a page unless asked otherwise, and at most. Decision: what a screen shows, and what one query can answer. */
export const PAGE_SIZE_DEFAULT = 50;
export const PAGE_SIZE_MAX = 200;

/** A date or datetime; `readPeriod` in `core/retention` reads it, so that its refusals carry their own codes. */
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

/** `…/overview` and `…/optimisation`. */
export const periodQuerySchema = v.object({ from: edge, to: edge });

/** `…/analytics`. */
export const analyticsQuerySchema = v.object({
  from: edge,
  to: edge,
  by: v.picklist(["project", "model", "provider", "machine", "user"]),
  bucket: v.optional(v.picklist(["hour", "day"]), "day"),
});

/** What analytics are asked for. */
export type AnalyticsQuery = v.InferOutput<typeof analyticsQuerySchema>;

/** `…/traces` and `…/audit/requests`. Decision: `status` is `ok`, `failed` or one HTTP status. */
export const tracesQuerySchema = v.object({
  from: edge,
  to: edge,
  project: maybe(text(64)),
  model: maybe(text(256)),
  provider: maybe(text(64)),
  status: maybe(
    v.pipe(v.string(), v.regex(/^(?:ok|failed|[1-9]\d\d)$/, "must be ok, failed or an HTTP status")),
  ),
  user: maybe(identifier),
  cursor,
  limit,
});

/** Which traces are asked for. */
export type TracesQuery = v.InferOutput<typeof tracesQuerySchema>;

/**
 * `GET /v1/traces/{request_id}/body`: which workspace's, where several have the request; and of a teammate's, why, or the
 * view that was announced. The reason may come as the header `X-Prompt-View-Reason` instead.
 */
export const traceBodyQuerySchema = v.object({
  workspace_id: maybe(identifier),
  reason: maybe(v.string()),
  view_id: maybe(identifier),
});

/** Whose body is asked for, and why. */
export type TraceBodyQuery = v.InferOutput<typeof traceBodyQuerySchema>;

/** `GET …/audit/prompt-views`. */
export const promptViewsQuerySchema = v.object({
  from: edge,
  to: edge,
  viewer: maybe(identifier),
  subject: maybe(identifier),
  cursor,
  limit,
});

/** Which views are asked for. */
export type PromptViewsQuery = v.InferOutput<typeof promptViewsQuerySchema>;

/** `GET …/audit/events`. */
export const auditEventsQuerySchema = v.object({ from: edge, to: edge, cursor, limit });

/** `…/daemon-totals`. `readDateWindow` in `core/retention` reads the two, and refuses datetimes. */
export const daemonTotalsQuerySchema = v.object({ from_date: text(40), to_date: text(40) });
