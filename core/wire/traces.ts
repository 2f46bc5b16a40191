import * as v from "valibot";
import { cost, count, identifier, instant, integer, maybe, page, sha256Hex, uuid } from "./fields.ts";
import { metadataRecordSchema } from "./metadata-record.ts";

const {
  cost_usd_minor_units: _minorUnits,
  cost_pico_usd: _reported,
  ...recordFields
} = metadataRecordSchema.entries;

/** Fields that the cloud adds to a record, and the two costs under the names that daemon totals use too. */
const cloudFields = {
  received_at: instant,
  /** Whether the sender's clock was too far off. Source: docs/specification.md#metadata-batch. */
  clock_skewed: v.boolean(),
  user: maybe(v.object({ id: identifier, name: v.string() })),
  machine: maybe(v.object({ id: identifier, hostname: v.string() })),
  /** The cost computed by the cloud; `null` without a known rate. */
  cost_pico_usd: maybe(cost),
  /** The cost computed by the daemon. */
  reported_cost_pico_usd: maybe(cost),
};

/** The response of `…/traces/{request_id}`: everything that the cloud stores about a request except its bodies. */
export const traceSchema = v.object({ ...recordFields, ...cloudFields });

/** One request with the fields that the cloud adds. */
export type Trace = v.InferOutput<typeof traceSchema>;

/** An entry in a list of traces. */
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
  "billing_mode",
  "latency_ms",
  "ttfb_ms",
  "http_status",
  "error_class",
]);

/** A request in a list. */
export type TraceSummary = v.InferOutput<typeof traceSummarySchema>;

/** The response of `…/traces` and `…/audit/requests`, newest first. */
export const tracesSchema = v.object({
  from: instant,
  to: instant,
  /** The requested `from`, if it was clamped. `…/traces` rejects such a request instead. */
  clamped_from: maybe(instant),
  ...page(traceSummarySchema).entries,
});

/** A page of traces. */
export type Traces = v.InferOutput<typeof tracesSchema>;

const version = maybe(integer(1, 9_999));

const side = maybe(
  v.object({
    content_type: v.string(),
    text: v.string(),
    original_size_bytes: count,
    truncated: maybe(v.boolean()),
    /** Starts at 1 and grows each time the side is replaced. */
    version,
    sha256: maybe(sha256Hex),
    stored_at: maybe(instant),
  }),
);

/** The response of `GET /v1/traces/{request_id}/body`. Source: docs/specification.md#bodies. */
export const traceBodySchema = v.object({
  request_id: uuid,
  request: side,
  response: side,
  redaction_applied: v.boolean(),
  redaction_summary: v.array(v.string()),
  captured_at: instant,
  /** Versions of each side that were replaced later, oldest first. */
  earlier_versions: v.optional(
    v.array(
      v.object({
        direction: v.picklist(["request", "response"]),
        version,
        sha256: sha256Hex,
        size_bytes: count,
        stored_at: maybe(instant),
      }),
    ),
    [],
  ),
});

/** The stored body of a request. */
export type TraceBody = v.InferOutput<typeof traceBodySchema>;
