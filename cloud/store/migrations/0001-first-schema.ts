import type { Migration } from "../migration.ts";
import { makeRole } from "./make-role.ts";

/** The workspace of the transaction's scope; null, which equals nothing, if it has none. */
const CURRENT_WORKSPACE = "nullif(current_setting('meter.workspace_id', true), '')::uuid";

/** The organisation of the transaction's scope. The caller was found to be its member or administrator. */
const CURRENT_ORGANISATION = "nullif(current_setting('meter.organisation_id', true), '')::uuid";

/** The person of the transaction's scope. */
const CURRENT_USER_ID = "nullif(current_setting('meter.user_id', true), '')";

/**
 * The sums of a rollup. Counts are numeric too: the sum of a thousand records with the largest counts that the wire allows
 * exceeds an int8, and an overflow would refuse every later record of its hour.
 */
const SUMS = `
  requests bigint not null default 0,
  failed_requests bigint not null default 0,
  unpriced_requests bigint not null default 0,
  incomplete_requests bigint not null default 0,
  prompt_tokens numeric not null default 0,
  completion_tokens numeric not null default 0,
  cache_read_tokens numeric not null default 0,
  cache_write_tokens numeric not null default 0,
  thinking_tokens numeric not null default 0,
  cost_pico_usd numeric not null default 0,
  reported_cost_pico_usd numeric not null default 0`;

/** A rollup's key besides workspace and time. `''` and the nil UUID mean "none", since a key cannot contain nulls. */
const DIMENSIONS = `
  machine_id uuid not null,
  user_id text not null,
  project text not null,
  provider text not null,
  model text not null`;

const bodySide = (side: string) => `
  ${side}_body bytea,
  ${side}_content_type text,
  ${side}_original_size_bytes bigint,
  ${side}_truncated boolean,
  ${side}_redaction_applied boolean,
  ${side}_redaction_summary jsonb,
  ${side}_stored_at timestamptz(3)`;

const TABLES = [
  `create table organisations (
    organisation_id uuid primary key,
    name text not null,
    created_at timestamptz(3) not null,
    deleted_at timestamptz(3)
  )`,
  `create table organisation_members (
    organisation_id uuid not null references organisations,
    user_id text not null,
    role text not null check (role in ('owner', 'admin', 'member')),
    created_at timestamptz(3) not null,
    removed_at timestamptz(3),
    primary key (organisation_id, user_id)
  )`,
  "create index organisation_members_by_user on organisation_members (user_id)",

  // No foreign key to the organisation: organisations and workspaces may be on different shards.
  `create table workspaces (
    workspace_id uuid primary key,
    organisation_id uuid not null,
    name text not null,
    plan text not null default 'solo' check (plan in ('solo', 'team', 'business', 'enterprise')),
    store_prompt_content boolean not null default false,
    data_retention_days integer not null default 365 check (data_retention_days between 1 and 3650),
    audit_log_retention_days integer not null default 365 check (audit_log_retention_days between 1 and 3650),
    created_at timestamptz(3) not null,
    deleted_at timestamptz(3)
  )`,
  "create index workspaces_by_organisation on workspaces (organisation_id)",
  `create table memberships (
    workspace_id uuid not null references workspaces,
    user_id text not null,
    role text not null check (role in ('admin', 'member')),
    created_at timestamptz(3) not null,
    removed_at timestamptz(3),
    primary key (workspace_id, user_id)
  )`,
  "create index memberships_by_user on memberships (user_id)",

  `create table machines (
    workspace_id uuid not null references workspaces,
    machine_id uuid not null,
    fingerprint text,
    hostname text not null,
    platform text not null,
    daemon_version text not null,
    created_at timestamptz(3) not null,
    blocked_at timestamptz(3),
    primary key (workspace_id, machine_id)
  )`,
  "create unique index machines_by_fingerprint on machines (workspace_id, fingerprint)",
  `create table sync_keys (
    workspace_id uuid not null references workspaces,
    key_id uuid not null,
    token_hash bytea not null,
    prefix text not null,
    scope text not null check (scope in ('sync', 'admin')),
    machine_id uuid,
    user_id text not null,
    created_at timestamptz(3) not null,
    revoked_at timestamptz(3),
    primary key (workspace_id, key_id),
    foreign key (workspace_id, machine_id) references machines,
    check ((scope = 'sync') = (machine_id is not null))
  )`,
  "create unique index sync_keys_by_token on sync_keys (workspace_id, token_hash)",
  // One active sync key per machine (docs/specification.md#limits), enforced by the database too.
  `create unique index sync_keys_one_active on sync_keys (workspace_id, machine_id)
    where revoked_at is null and scope = 'sync'`,

  // Belongs to no tenant until a person approves it.
  `create table pairing_sessions (
    pairing_id uuid primary key,
    code text not null,
    poll_hash bytea not null,
    fingerprint text,
    hostname text not null,
    platform text not null,
    daemon_version text not null,
    address text,
    created_at timestamptz(3) not null,
    expires_at timestamptz(3) not null,
    status text not null default 'pending' check (status in ('pending', 'approved', 'denied', 'consumed')),
    workspace_id uuid,
    user_id text,
    decided_at timestamptz(3),
    consumed_at timestamptz(3)
  )`,
  "create unique index pairing_sessions_by_code on pairing_sessions (code)",
  "create unique index pairing_sessions_by_poll on pairing_sessions (poll_hash)",
  "create index pairing_sessions_by_expiry on pairing_sessions (expires_at)",

  // No foreign keys: machines and workspaces are never deleted, and a check for each row would halve the ingest.
  `create table requests (
    workspace_id uuid not null,
    request_id uuid not null,
    requested_at timestamptz(3) not null,
    received_at timestamptz(3) not null,
    clock_skewed boolean not null,
    machine_id uuid,
    user_id text not null,
    provider text not null,
    model text not null,
    requested_model text,
    request_kind text,
    streaming boolean,
    prompt_tokens bigint,
    completion_tokens bigint,
    cache_read_tokens bigint,
    cache_write_tokens bigint,
    cache_write_1h_tokens bigint,
    thinking_tokens bigint,
    tokens_complete boolean,
    cost_pico_usd numeric,
    cost_source text not null,
    rates_source text,
    reported_cost_pico_usd numeric,
    reported_cost_source text,
    reported_rates_source text,
    provider_cost_pico_usd numeric,
    service_tier text,
    usage_extras jsonb,
    latency_ms bigint,
    ttfb_ms bigint,
    http_status integer,
    error_class text,
    provider_error_code text,
    retryable boolean,
    project text,
    attribution_tier text,
    prompt_hash text,
    method text,
    path text,
    source_workdir text,
    primary key (workspace_id, request_id)
  )`,
  "create index requests_by_time on requests (workspace_id, requested_at, request_id)",
  // Used only to check whether another workspace has an id (404) or none has (425).
  "create index requests_by_id on requests (request_id)",

  `create table request_bodies (
    workspace_id uuid not null,
    request_id uuid not null,
    ${bodySide("request")},
    ${bodySide("response")},
    primary key (workspace_id, request_id),
    foreign key (workspace_id, request_id) references requests
  )`,
  `create table body_first_sightings (
    workspace_id uuid not null references workspaces,
    request_id uuid not null,
    first_seen_at timestamptz(3) not null,
    primary key (workspace_id, request_id)
  )`,
  "create index body_first_sightings_by_time on body_first_sightings (workspace_id, first_seen_at)",

  // Free room on each page lets an update of a sum stay on its page and leave the index unchanged.
  `create table usage_hourly (
    workspace_id uuid not null,
    hour timestamptz(0) not null,
    ${DIMENSIONS},
    ${SUMS},
    primary key (workspace_id, hour, machine_id, user_id, project, provider, model)
  ) with (fillfactor = 70)`,
  `create table usage_daily (
    workspace_id uuid not null,
    day date not null,
    ${DIMENSIONS},
    ${SUMS},
    primary key (workspace_id, day, machine_id, user_id, project, provider, model)
  ) with (fillfactor = 70)`,

  `create table pricing_rates (
    source text not null check (source in ('bundled', 'auto')),
    provenance_date date not null,
    position integer not null,
    added_at timestamptz(3) not null,
    rate jsonb not null,
    primary key (source, provenance_date, position)
  )`,

  `create table checkout_consent_records (
    consent_id uuid primary key,
    user_id text not null,
    plan text not null,
    period text not null,
    wording_hash text not null,
    ip text,
    user_agent text,
    "timestamp" timestamptz(3) not null
  )`,
  `create table prompt_view_heads (
    workspace_id uuid primary key references workspaces,
    seq bigint not null,
    hash text not null
  )`,
  `create table prompt_views (
    workspace_id uuid not null references workspaces,
    seq bigint not null,
    view_id uuid not null,
    request_id uuid not null,
    viewer_user_id text not null,
    subject_user_id text not null,
    consent_grant_id text,
    reason text not null,
    viewed_at timestamptz(3) not null,
    client_ip text,
    user_agent text,
    prev_hash text not null,
    hash text not null,
    primary key (workspace_id, seq)
  )`,
  "create unique index prompt_views_by_id on prompt_views (workspace_id, view_id)",
  "create index prompt_views_by_time on prompt_views (workspace_id, viewed_at)",
  `create table audit_events (
    workspace_id uuid not null references workspaces,
    event_id uuid not null,
    at timestamptz(3) not null,
    kind text not null,
    actor_user_id text,
    details jsonb not null,
    retain_until timestamptz(3) not null,
    primary key (workspace_id, event_id)
  )`,
  "create index audit_events_by_time on audit_events (workspace_id, at, event_id)",
];

/** What the application can do with each table. It can delete only short-lived rows. */
const GRANTS: Readonly<Record<string, string>> = {
  organisations: "select, insert, update",
  organisation_members: "select, insert, update",
  workspaces: "select, insert, update",
  memberships: "select, insert, update",
  machines: "select, insert, update",
  sync_keys: "select, insert, update",
  pairing_sessions: "select, insert, update, delete",
  requests: "select, insert, update",
  request_bodies: "select, insert, update",
  body_first_sightings: "select, insert, delete",
  usage_hourly: "select, insert, update",
  usage_daily: "select, insert, update",
  pricing_rates: "select",
  // Evidence: rows never change.
  checkout_consent_records: "select, insert",
  prompt_view_heads: "select, insert, update",
  prompt_views: "select, insert",
  audit_events: "select, insert",
};

const TENANT = `workspace_id = ${CURRENT_WORKSPACE}`;
const OWN = `user_id = ${CURRENT_USER_ID}`;
const ORGANISATION = `organisation_id = ${CURRENT_ORGANISATION}`;

/** The rows of a table that can be read, and those that can be written if they are fewer. */
interface Policy {
  readonly read: string;
  readonly write?: string;
}

/**
 * Row-level security, so that a query without `where workspace_id` finds no other tenant's rows. `pairing_sessions` and
 * `pricing_rates` belong to no tenant and have none.
 */
const POLICIES: Readonly<Record<string, Policy>> = {
  organisations: {
    read: `${ORGANISATION} or organisation_id in (select organisation_id from organisation_members where ${OWN})`,
    write: ORGANISATION,
  },
  organisation_members: {
    read: `${OWN} or ${ORGANISATION} or organisation_id in (select organisation_id from workspaces where ${TENANT})`,
    write: ORGANISATION,
  },
  workspaces: {
    read: `${TENANT} or ${ORGANISATION} or workspace_id in (select workspace_id from memberships where ${OWN})`,
    write: TENANT,
  },
  memberships: { read: `${TENANT} or ${OWN}`, write: TENANT },
  machines: { read: TENANT },
  sync_keys: { read: TENANT },
  requests: { read: TENANT },
  request_bodies: { read: TENANT },
  body_first_sightings: { read: TENANT },
  usage_hourly: { read: TENANT },
  usage_daily: { read: TENANT },
  checkout_consent_records: { read: OWN },
  prompt_view_heads: { read: TENANT },
  prompt_views: { read: TENANT },
  audit_events: { read: TENANT },
};

function policyStatements(table: string, { read, write = read }: Policy): string[] {
  return [
    `alter table ${table} enable row level security`,
    // Forced, so that without `set role` the owner sees no rows instead of all.
    `alter table ${table} force row level security`,
    `create policy ${table}_read on ${table} for select to meter_app using (${read})`,
    `create policy ${table}_insert on ${table} for insert to meter_app with check (${write})`,
    `create policy ${table}_update on ${table} for update to meter_app using (${write}) with check (${write})`,
    `create policy ${table}_delete on ${table} for delete to meter_app using (${write})`,
  ];
}

/** Creates all tables, the two roles and their rights. */
export const firstSchema: Migration = {
  name: "0001-first-schema",
  statements: [
    makeRole("meter_app"),
    makeRole("meter_lookup"),
    ...TABLES,
    ...Object.entries(GRANTS).map(([table, rights]) => `grant ${rights} on ${table} to meter_app`),
    ...Object.entries(POLICIES).flatMap(([table, policy]) => policyStatements(table, policy)),
    // The lookup role can find out that an id exists in some workspace, and nothing else.
    "grant select (request_id) on requests to meter_lookup",
    "create policy requests_lookup on requests for select to meter_lookup using (true)",
  ],
};
