import type { Generated } from "kysely";
import type { FIELD_TYPES, FieldType, RecordFields, StoredField } from "../../core/values/record-fields.ts";
import type { CloudStateRows } from "./port/delivery.ts";

/**
 * The tables at the latest schema version. Times are in milliseconds since the epoch (UTC), booleans are 0 or 1, and money is
 * in pico-USD, which a `number` can't always hold exactly.
 */
export interface Tables {
  meta: { key: string; value: string };
  requests: RequestsTable;
  project_settings: { project: string; body_capture: number | null; updated_at: number };
  pricing_rates: {
    source: string;
    provider: string;
    model: string;
    provenance_date: string;
    stored_at: number;
    /** The whole rate row of `core/pricing`, as JSON. */
    rate_row: string;
  };
  /** The origins of projects that are named after a folder: `OriginAssignment`. */
  project_origins: { seq: Generated<number>; name: string; origin: string; folder: string; slug: string };
  /** The merges of projects. The latest of a project applies; one into itself ends an earlier merge. */
  project_merges: { project: string; merged_at: number; merged_into: string };
  /** Sets of field names, each as a JSON array in order. */
  sent_fields: { sent_fields_id: number; fields: string };
  request_bodies: RequestBodiesTable;
  request_body_contents: { body_id: number; content: Uint8Array };
  coverage: { slot: number; host: string; kind: string; count: number };
  /** The calls that were counted in `coverage`, by method and path template. */
  coverage_calls: { slot: number; host: string; kind: string; method: string; path: string; count: number };
  daemon_runs: { run_from: number; run_to: number };
  cloud_state: CloudStateRows["cloud_state"] & { id: number };
  cloud_sync_state: CloudStateRows["cloud_sync_state"] & { id: number };
  cloud_body_sync_state: CloudStateRows["cloud_body_sync_state"] & { id: number };
  cloud_quarantine: {
    kind: string;
    request_id: string;
    /** Empty for metadata. */
    direction: string;
    reason: string;
    http_status: number | null;
    quarantined_at: number;
  };
}

/** The value of a column that stores a field. A cost can exceed what a number holds exactly. */
type StoredValue<Type extends FieldType> = Type extends "cost"
  ? number | bigint
  : { INTEGER: number; TEXT: string }[(typeof FIELD_TYPES)[Type]["sqlite"]];

/** The columns that capture fills. */
type CapturedColumns = {
  -readonly [Name in keyof RecordFields as Name extends StoredField ? RecordFields[Name]["column"] : never]:
    | StoredValue<RecordFields[Name]["type"]>
    | (RecordFields[Name] extends { readonly nullable: true } | { readonly optional: true } ? null : never);
};

/** A metered request: the columns of `RECORD_FIELDS`, and the state of the row. */
export interface RequestsTable extends CapturedColumns {
  /** The order of arrival, which cursors follow. */
  seq: Generated<number>;
  synced_at: number | null;
  sync_skipped_at: number | null;
  recomputed_at: number | null;
  reassigned_at: number | null;
  /** The original project, if the user changed it. */
  reassigned_from: string | null;
  /** The fields that were sent. Null if none was sent, or if the row is older than this column. */
  sent_fields_id: number | null;
}

/** A captured body of a request. Its bytes are in `request_body_contents`. */
interface RequestBodiesTable {
  body_id: Generated<number>;
  request_id: string;
  direction: string;
  captured_at: number;
  content_type: string | null;
  /** The stored size in bytes. */
  size_bytes: number;
  /** The size before redaction and truncation, in bytes. */
  original_size_bytes: number;
  truncated: number;
  redaction_applied: number;
  /** JSON list of rule names. */
  redaction_summary: string;
  uploaded_at: number | null;
}
