import type { Generated } from "kysely";

/**
 * The tables at schema version 15, as Kysely and the user see them. Times are milliseconds since the epoch (UTC), truth
 * is 0 or 1, money is pico-USD, of which one request may cost more than a `number` holds exactly.
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
  request_bodies: RequestBodiesTable;
  request_body_contents: { body_id: number; content: Uint8Array };
  coverage: { slot: number; host: string; kind: string; count: number };
  cloud_state: {
    id: number;
    enabled: number;
    workspace_id: string | null;
    workspace_name: string | null;
    machine_id: string | null;
    hostname: string | null;
    last_connected_at: number | null;
    paused_reason: string | null;
    api_key_mirror: Uint8Array | null;
  };
  cloud_sync_state: {
    id: number;
    paused_reason: string | null;
    consecutive_failures: number;
    last_error: string | null;
    /** Everything up to this `requests.seq` is sent, passed over or quarantined. */
    cursor_seq: number;
    last_error_at: number | null;
    last_tick_at: number | null;
  };
  cloud_body_sync_state: {
    id: number;
    paused_reason: string | null;
    consecutive_failures: number;
    last_error: string | null;
    /** Stays 0: every pass looks at all that waits, since a rule that holds a body back may be lifted later. */
    cursor_body_id: number;
    upload_from: number | null;
    records_policy_rejected: number;
    last_error_at: number | null;
    last_body_tick_at: number | null;
  };
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

/** One metered request; names as on the wire where they exist there. */
export interface RequestsTable {
  /** The order of arrival, which cursors follow. */
  seq: Generated<number>;
  request_id: string;
  requested_at: number;
  provider: string;
  model: string;
  project: string;
  client: string | null;
  prompt_tokens: number | null;
  completion_tokens: number | null;
  cache_read_tokens: number | null;
  cache_write_tokens: number | null;
  cache_write_1h_tokens: number | null;
  thinking_tokens: number | null;
  tokens_complete: number;
  cost_pico_usd: number | bigint | null;
  cost_source: string;
  error_class: string | null;
  requested_model: string | null;
  request_kind: string;
  streaming: number;
  provider_cost_pico_usd: number | bigint | null;
  rates_source: string | null;
  service_tier: string | null;
  /** JSON object of integers. */
  usage_extras: string | null;
  latency_ms: number;
  ttfb_ms: number | null;
  http_status: number | null;
  provider_error_code: string | null;
  retryable: number | null;
  attribution_tier: string;
  prompt_hash: string | null;
  method: string;
  path: string;
  source_workdir: string | null;
  host: string;
  api: string;
  provider_response_id: string | null;
  error_message_hash: string | null;
  synced_at: number | null;
  sync_skipped_at: number | null;
  recomputed_at: number | null;
  reassigned_at: number | null;
  /** The project that attribution had found, where the user changed it. */
  reassigned_from: string | null;
  /** 1 for a response that its provider hands out again; else null. */
  response_kept: number | null;
}

/** One captured leg of a request; its bytes are in `request_body_contents`. */
export interface RequestBodiesTable {
  body_id: Generated<number>;
  request_id: string;
  direction: string;
  captured_at: number;
  content_type: string | null;
  /** Bytes kept. */
  size_bytes: number;
  /** Bytes before redaction and cuts. */
  original_size_bytes: number;
  truncated: number;
  redaction_applied: number;
  /** JSON list of rule names. */
  redaction_summary: string;
  uploaded_at: number | null;
}
