import type { ColumnType } from "kysely";
import type { Plan } from "../../core/plans/mod.ts";
import type { CalendarDate, Millis } from "../../core/time.ts";

/** `int8` and `numeric`: read as text, written as an integer. */
type Integer = ColumnType<string, string | number | bigint, string | number | bigint>;

/** Absent in an insert, it is null. */
type Nullable<T> = ColumnType<T | null, T | null | undefined, T | null>;

/** With a default. */
type Defaulted<T> = ColumnType<T, T | undefined, T>;

/** What a key may do. Source: contract, "Authentication", 1. */
export type KeyScope = "sync" | "admin";

/** The tables, as the adapters read them (`core/ports/postgres`). Large statements name the columns themselves. */
export interface CloudSchema {
  cloud_migrations: { name: string; applied_at: Millis };
  organisations: { organisation_id: string; name: string; created_at: Millis; deleted_at: Nullable<Millis> };
  organisation_members: {
    organisation_id: string;
    user_id: string;
    role: "owner" | "admin" | "member";
    created_at: Millis;
    removed_at: Nullable<Millis>;
  };
  workspaces: {
    workspace_id: string;
    organisation_id: string;
    name: string;
    plan: Defaulted<Plan>;
    store_prompt_content: Defaulted<boolean>;
    data_retention_days: Defaulted<number>;
    audit_log_retention_days: Defaulted<number>;
    created_at: Millis;
    deleted_at: Nullable<Millis>;
  };
  memberships: {
    workspace_id: string;
    user_id: string;
    role: "admin" | "member";
    created_at: Millis;
    removed_at: Nullable<Millis>;
  };
  machines: {
    workspace_id: string;
    machine_id: string;
    fingerprint: Nullable<string>;
    hostname: string;
    platform: string;
    daemon_version: string;
    created_at: Millis;
    blocked_at: Nullable<Millis>;
  };
  sync_keys: {
    workspace_id: string;
    key_id: string;
    token_hash: Uint8Array;
    prefix: string;
    scope: KeyScope;
    machine_id: Nullable<string>;
    user_id: string;
    created_at: Millis;
    revoked_at: Nullable<Millis>;
  };
  invitations: {
    workspace_id: string;
    invitation_id: string;
    token_hash: Uint8Array;
    email: string;
    role: "admin" | "member";
    invited_by: string;
    created_at: Millis;
    expires_at: Millis;
    accepted_at: Nullable<Millis>;
    accepted_by: Nullable<string>;
    revoked_at: Nullable<Millis>;
  };
  pairing_sessions: {
    pairing_id: string;
    code: string;
    poll_hash: Uint8Array;
    fingerprint: Nullable<string>;
    hostname: string;
    platform: string;
    daemon_version: string;
    address: Nullable<string>;
    created_at: Millis;
    expires_at: Millis;
    status: Defaulted<"pending" | "approved" | "denied" | "consumed">;
    workspace_id: Nullable<string>;
    user_id: Nullable<string>;
    decided_at: Nullable<Millis>;
    consumed_at: Nullable<Millis>;
  };
  requests: RequestRow;
  request_bodies: { workspace_id: string; request_id: string } & BodyLegColumns<"request"> &
    BodyLegColumns<"response">;
  body_first_sightings: { workspace_id: string; request_id: string; first_seen_at: Millis };
  usage_hourly: { hour: Millis } & UsageRow;
  usage_daily: { day: CalendarDate } & UsageRow;
  pricing_rates: {
    source: "bundled" | "auto";
    provenance_date: CalendarDate;
    position: number;
    added_at: Millis;
    rate: unknown;
  };
  checkout_consent_records: {
    consent_id: string;
    user_id: string;
    plan: string;
    period: string;
    wording_hash: string;
    ip: Nullable<string>;
    user_agent: Nullable<string>;
    timestamp: Millis;
  };
  prompt_view_heads: { workspace_id: string; seq: Integer; hash: string };
  prompt_views: {
    workspace_id: string;
    seq: Integer;
    view_id: string;
    request_id: string;
    viewer_user_id: string;
    subject_user_id: string;
    consent_grant_id: Nullable<string>;
    reason: string;
    viewed_at: Millis;
    client_ip: Nullable<string>;
    user_agent: Nullable<string>;
    prev_hash: string;
    hash: string;
  };
  prompt_view_tickets: {
    workspace_id: string;
    view_id: string;
    request_id: string;
    viewer_user_id: string;
    expires_at: Millis;
    used_at: Nullable<Millis>;
  };
  audit_events: {
    workspace_id: string;
    event_id: string;
    at: Millis;
    kind: string;
    actor_user_id: Nullable<string>;
    details: ColumnType<AuditDetails, never, never>;
    retain_until: Millis;
  };
}

/** What changed, by field. Written as text with a cast. */
type AuditDetails = Record<string, string | number | boolean | null>;

/** One request as the cloud stores it. */
export interface RequestRow {
  workspace_id: string;
  request_id: string;
  requested_at: Millis;
  received_at: Millis;
  clock_skewed: boolean;
  machine_id: string | null;
  user_id: string;
  provider: string;
  model: string;
  requested_model: string | null;
  request_kind: string | null;
  streaming: boolean | null;
  prompt_tokens: Integer | null;
  completion_tokens: Integer | null;
  cache_read_tokens: Integer | null;
  cache_write_tokens: Integer | null;
  cache_write_1h_tokens: Integer | null;
  thinking_tokens: Integer | null;
  tokens_complete: boolean | null;
  /** The cloud's own cost, with where it came from; the three below are the daemon's. */
  cost_pico_usd: Integer | null;
  cost_source: string;
  rates_source: string | null;
  reported_cost_pico_usd: Integer | null;
  reported_cost_source: string | null;
  reported_rates_source: string | null;
  provider_cost_pico_usd: Integer | null;
  service_tier: string | null;
  usage_extras: Record<string, number> | null;
  latency_ms: Integer | null;
  ttfb_ms: Integer | null;
  http_status: number | null;
  error_class: string | null;
  provider_error_code: string | null;
  retryable: boolean | null;
  project: string | null;
  attribution_tier: string | null;
  prompt_hash: string | null;
  method: string | null;
  path: string | null;
  source_workdir: string | null;
}

interface UsageRow {
  workspace_id: string;
  machine_id: string;
  user_id: string;
  project: string;
  provider: string;
  model: string;
  requests: Integer;
  failed_requests: Integer;
  unpriced_requests: Integer;
  incomplete_requests: Integer;
  prompt_tokens: Integer;
  completion_tokens: Integer;
  cache_read_tokens: Integer;
  cache_write_tokens: Integer;
  thinking_tokens: Integer;
  cost_pico_usd: Integer;
  reported_cost_pico_usd: Integer;
}

type BodyLegColumns<Leg extends "request" | "response"> = {
  [Key in `${Leg}_body`]: Uint8Array | null;
} & { [Key in `${Leg}_content_type`]: string | null } & {
  [Key in `${Leg}_original_size_bytes`]: Integer | null;
} & { [Key in `${Leg}_truncated` | `${Leg}_redaction_applied`]: boolean | null } & {
  [Key in `${Leg}_redaction_summary`]: string[] | null;
} & { [Key in `${Leg}_stored_at`]: Millis | null };
