import type { ColumnType } from "kysely";
import type { Plan } from "../../core/values/plan.ts";
import type { RecordFields } from "../../core/values/record-fields.ts";
import type { CalendarDate, Millis } from "../../core/values/time.ts";
import type { SavedViewPage } from "../../core/wire/saved-views.ts";
import type { CloudColumn, REQUEST_COLUMNS } from "./request-columns.ts";

/** A member's role in an organisation. */
export type OrganisationRole = "owner" | "admin" | "member";

/** `int8` and `numeric`: read as text, written as an integer. */
type Integer = ColumnType<string, string | number | bigint, string | number | bigint>;

/** Null if an insert leaves it out. */
type Nullable<T> = ColumnType<T | null, T | null | undefined, T | null>;

/** Computed by the database, never written. */
type Computed<T> = ColumnType<T, never, never>;

/** Takes its default if an insert leaves it out. */
type Defaulted<T> = ColumnType<T, T | undefined, T>;

/** What a key can be used for. Source: docs/specification.md#cloud-accounts-and-keys, 1. */
export type KeyScope = "sync" | "admin";

/**
 * The tables, with the types that the adapters read (`core/ports/postgres`). Large statements are written in SQL and name
 * the columns themselves.
 */
export interface CloudSchema {
  cloud_migrations: { name: string; applied_at: Millis };
  /** The restores of this database from backups. */
  restores: { generation: string; backup_at: Millis; restored_at: Millis };
  /** The states of rate limits and locks that all processes share, by the hash of the client. */
  limit_states: { client_hash: Uint8Array; state: unknown; expires_at: Millis };
  organisations: {
    organisation_id: string;
    name: string;
    created_at: Millis;
    deleted_at: Nullable<Millis>;
    purged_at: Nullable<Millis>;
    /** How many rows the purge erased, by their kind. */
    erased_rows: Nullable<unknown>;
  };
  /** Deleted accounts. Once `purged_at` is set, only the id is left of the person. */
  account_deletions: {
    user_id: string;
    deleted_at: Millis;
    /** When the account was closed: its sessions ended and its address became free. */
    closed_at: Nullable<Millis>;
    purged_at: Nullable<Millis>;
    erased_rows: Nullable<unknown>;
  };
  organisation_members: {
    organisation_id: string;
    user_id: string;
    role: OrganisationRole;
    created_at: Millis;
    removed_at: Nullable<Millis>;
  };
  /** Which workspaces an organisation has. */
  workspace_directory: {
    workspace_id: string;
    organisation_id: string;
    deleted_at: Nullable<Millis>;
    purged_at: Nullable<Millis>;
    erased_rows: Nullable<unknown>;
  };
  /** Which workspaces a person joined, or may have joined. */
  person_workspaces: { user_id: string; workspace_id: string };
  /** Unfinished work. `TaskDetails` has the kinds, and the details of each. */
  tasks: { kind: string; task_id: string; details: unknown; due_at: Millis };
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
    purged_at: Nullable<Millis>;
    /** The same for each deleted subject whose rows in this workspace were erased: the workspace itself, accounts. By the subject's id. */
    erased_rows: Nullable<unknown>;
    prompt_hash_key: Nullable<Uint8Array>;
    /** An IANA name. */
    reporting_zone: Defaulted<string>;
    /** When the latest erasure of prompts began. */
    prompts_erased_at: Nullable<Millis>;
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
    user_id: Nullable<string>;
    approved_by: Nullable<string>;
    /** The name that people gave it, shown instead of the host name. */
    label: Nullable<string>;
    /** When it last stated its coverage. */
    coverage_at: Nullable<Millis>;
    /** How many of its requests waited to be sent then. */
    queued_requests: Nullable<string>;
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
    /** Up to `KEY_USE_STEP_MS` before the last use. */
    last_used_at: Nullable<Millis>;
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
    decided_by: Nullable<string>;
    decided_at: Nullable<Millis>;
    consumed_at: Nullable<Millis>;
    /** The poll that is storing the machine's key. */
    claim: Nullable<string>;
    claimed_at: Nullable<Millis>;
  };
  requests: RequestRow;
  request_bodies: { workspace_id: string; request_id: string } & BodySideColumns<"request"> &
    BodySideColumns<"response">;
  request_body_versions: {
    workspace_id: string;
    request_id: string;
    direction: "request" | "response";
    version: number;
    body: Uint8Array;
    body_sha256: Computed<string>;
    content_type: string | null;
    original_size_bytes: Integer | null;
    truncated: boolean | null;
    redaction_applied: boolean | null;
    redaction_summary: string[] | null;
    stored_at: Millis | null;
    replaced_at: Millis;
    key_id: Nullable<string>;
    content_sha256: Nullable<string>;
  };
  /** The keys of bodies. Their bytes are in the key store. */
  body_keys: {
    workspace_id: string;
    key_id: string;
    user_id: string;
    /** Empty for requests without a project. */
    project: string;
    created_at: Millis;
    /** When an erasure ended the key's use. */
    destroyed_at: Nullable<Millis>;
    /** When the key store confirmed that the key is gone. */
    shredded_at: Nullable<Millis>;
  };
  /** The erasures of prompts: those of one person, one project, or one person in one project. */
  erasures: {
    workspace_id: string;
    erasure_id: string;
    user_id: Nullable<string>;
    project: Nullable<string>;
    /** Prompts of earlier requests are erased and no longer accepted. */
    before: Millis;
    /** Null for the host's own administration. */
    actor_user_id: Nullable<string>;
    bodies: Defaulted<number>;
    replaced_versions: Defaulted<number>;
    requests: Defaulted<number>;
    views: Defaulted<number>;
    events: Defaulted<number>;
    finished_at: Nullable<Millis>;
    /** The certificate as JSON, once the erasure has finished. */
    certificate: Nullable<string>;
  };
  body_first_sightings: { workspace_id: string; request_id: string; first_seen_at: Millis };
  usage_hourly: { hour: Millis } & UsageRow;
  usage_daily: { day: CalendarDate } & UsageRow;
  usage_branches: { span_hours: number; starts_at: Millis; git_branch: string } & Omit<
    UsageRow,
    "machine_id" | "user_id" | "reported_cost_pico_usd"
  >;
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
    request_sha256: Nullable<string>;
    response_sha256: Nullable<string>;
    content_salt: Nullable<string>;
    content_hash: Nullable<string>;
    /** When reason, address and user agent were blanked. */
    erased_at: Nullable<Millis>;
  };
  prompt_view_tickets: {
    workspace_id: string;
    view_id: string;
    request_id: string;
    viewer_user_id: string;
    expires_at: Millis;
    used_at: Nullable<Millis>;
  };
  coverage_hours: {
    workspace_id: string;
    hour: Millis;
    machine_id: string;
    as_of: Millis;
    metered: Integer;
    seen: Integer;
    /** An object: counts by kind. */
    counts: unknown;
  };
  coverage_days: {
    workspace_id: string;
    day: CalendarDate;
    machine_id: string;
    metered: Integer;
    seen: Integer;
    /** An object: by kind, the count and the hour in which it last went up. */
    counts: unknown;
  };
  daemon_runs: { workspace_id: string; machine_id: string; run_from: Millis; run_to: Millis };
  limit_readings: {
    workspace_id: string;
    machine_id: string;
    user_id: Nullable<string>;
    provider: string;
    account: string;
    window_name: string;
    scope: string;
    unit: string;
    window_ms: ColumnType<string | null, number | null, number | null>;
    used_ppm: ColumnType<string | null, number | null, number | null>;
    limit_amount: ColumnType<string | null, number | null, number | null>;
    remaining_amount: ColumnType<string | null, number | null, number | null>;
    reset_at: Nullable<Millis>;
    status: Nullable<string>;
    seen_at: Millis;
  };
  budgets: {
    workspace_id: string;
    budget_id: string;
    name: string;
    subject: "workspace" | "project" | "person" | "machine";
    /** The project, the id of the person or that of the machine; empty for the workspace. */
    target: string;
    /** JSON, as `parseFleetBudget()` reads it. */
    terms: string;
    is_paused: boolean;
    lifted_until: Nullable<Millis>;
    created_by: string;
    created_at: Millis;
  };
  /** The emails about budgets, one for each threshold, amount and period. */
  budget_warnings: {
    workspace_id: string;
    budget_id: string;
    period_from: Millis;
    threshold: number;
    limit_amount: Integer;
    tried_at: Millis;
    sent_at: Nullable<Millis>;
  };
  weekly_summaries: {
    user_id: string;
    workspace_id: string;
    token: string;
    created_at: Millis;
    /** The Monday on which the last summary ended. */
    sent_until: CalendarDate;
    tried_at: Nullable<Millis>;
  };
  saved_views: {
    workspace_id: string;
    view_id: string;
    user_id: string;
    name: string;
    page: SavedViewPage;
    query: string;
    is_shared: boolean;
    created_at: Millis;
  };
  cost_seal_heads: {
    workspace_id: string;
    seq: Integer;
    prev_hash: string;
    hash: string;
    summed_seq: Integer | null;
    summed_seals: Integer;
  };
  cost_seals: {
    workspace_id: string;
    seq: Integer;
    kind: "stored" | "filled";
    sealed_at: Millis;
    leaves: Uint8Array | null;
    content_hash: string;
    prev_hash: string;
    hash: string;
    erased_at: Nullable<Millis>;
  };
  audit_event_heads: { workspace_id: string; seq: Integer; prev_hash: string; hash: string };
  audit_events: {
    workspace_id: string;
    event_id: string;
    at: Millis;
    kind: string;
    actor_user_id: Nullable<string>;
    details: ColumnType<AuditDetails, never, never>;
    retain_until: Millis;
    /** When the details were blanked. */
    erased_at: Nullable<Millis>;
    /** Null for an event that is older than the chain. */
    seq: Nullable<string>;
    prev_hash: Nullable<string>;
    hash: Nullable<string>;
    content_salt: Nullable<string>;
    content_hash: Nullable<string>;
  };
}

/** What changed, by field. Written as text with a cast. */
type AuditDetails = Record<string, string | number | boolean | null>;

/** The value of each type of column in `requests`. */
interface PostgresValues {
  uuid: string;
  text: string;
  timestamptz: Millis;
  boolean: boolean;
  integer: number;
  bigint: Integer;
  numeric: Integer;
  jsonb: Record<string, number>;
}

/** The columns that the sender states. */
type StatedRow = {
  -readonly [Name in keyof RecordFields as CloudColumn<Name>]:
    | PostgresValues[(typeof REQUEST_COLUMNS)[CloudColumn<Name>]]
    | (RecordFields[Name] extends { readonly upload: "required" } ? never : null);
};

/** One request as the cloud stores it. */
export interface RequestRow extends StatedRow {
  workspace_id: string;
  received_at: Millis;
  clock_skewed: boolean;
  machine_id: string | null;
  user_id: string;
  /** The cloud's own cost. The daemon's is in the columns `reported_*`. */
  cost_pico_usd: Integer | null;
  cost_source: string;
  rates_source: string | null;
  /** The number of the seal that last filled in this request; null if none did. */
  cost_seal: Nullable<string>;
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
  spent_pico_usd: Integer;
  plan_usage_pico_usd: Integer;
  reported_cost_pico_usd: Integer;
}

type BodySideColumns<Side extends "request" | "response"> = {
  [Key in `${Side}_body`]: Uint8Array | null;
} & { [Key in `${Side}_content_type`]: string | null } & {
  [Key in `${Side}_original_size_bytes`]: Integer | null;
} & { [Key in `${Side}_truncated` | `${Side}_redaction_applied`]: boolean | null } & {
  [Key in `${Side}_redaction_summary`]: string[] | null;
} & { [Key in `${Side}_stored_at`]: Millis | null } & {
  [Key in `${Side}_sha256`]: Computed<string | null>;
} & { [Key in `${Side}_key_id` | `${Side}_content_sha256`]: Nullable<string> };
