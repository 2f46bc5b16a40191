import * as v from "valibot";
import { cost, count, identifier, instant, maybe, page, uuid } from "./fields.ts";
import { metadataRecordSchema } from "./metadata-record.ts";

const {
  cost_usd_minor_units: _minorUnits,
  cost_pico_usd: _reported,
  ...recordFields
} = metadataRecordSchema.entries;

/** What the cloud adds to a record, and the two costs under the names that daemon totals use too. */
const cloudFields = {
  received_at: instant,
  /** Whether the sender's clock was far off. Source: decisions, "Metadata batch". */
  clock_skewed: v.boolean(),
  user: maybe(v.object({ id: identifier, name: v.string() })),
  machine: maybe(v.object({ id: identifier, hostname: v.string() })),
  /** The cloud's own cost; `null` where it knows no rate. */
  cost_pico_usd: maybe(cost),
  /** What the daemon sent. */
  reported_cost_pico_usd: maybe(cost),
};

/** `…/traces/{request_id}`: all that the cloud has of a request but its bodies. */
export const traceSchema = v.object({ ...recordFields, ...cloudFields });

/** One request, as the cloud shows it. */
export type Trace = v.InferOutput<typeof traceSchema>;

/** A line of a list of traces. */
export const traceSummarySchema = v.pick(traceSchema, [
  "request_id",
  "requested_at",
  "received_at",
  "clock_skewed",
  "provider",
  "model",
  "request_kind",
  "streaming",
  "project",
  "user",
  "machine",
  "prompt_tokens",
  "completion_tokens",
  "cache_read_tokens",
  "cache_write_tokens",
  "thinking_tokens",
  "tokens_complete",
  "cost_pico_usd",
  "reported_cost_pico_usd",
  "latency_ms",
  "ttfb_ms",
  "http_status",
  "error_class",
]);

/** A request in a list. */
export type TraceSummary = v.InferOutput<typeof traceSummarySchema>;

/** `…/traces`, newest first, and `…/audit/requests`. */
export const tracesSchema = v.object({
  from: instant,
  to: instant,
  /** The `from` that was asked for, where a clamp moved it; a trace listing refuses instead. */
  clamped_from: maybe(instant),
  ...page(traceSummarySchema).entries,
});

/** A page of traces. */
export type Traces = v.InferOutput<typeof tracesSchema>;

const leg = maybe(
  v.object({
    content_type: v.string(),
    text: v.string(),
    original_size_bytes: count,
    truncated: maybe(v.boolean()),
  }),
);

/** `GET /v1/traces/{request_id}/body`. Source: decisions, "Bodies". */
export const traceBodySchema = v.object({
  request_id: uuid,
  request: leg,
  response: leg,
  redaction_applied: v.boolean(),
  redaction_summary: v.array(v.string()),
  captured_at: instant,
});

/** The stored body of a request. */
export type TraceBody = v.InferOutput<typeof traceBodySchema>;
