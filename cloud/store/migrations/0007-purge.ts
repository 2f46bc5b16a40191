import type { Migration } from "../migration.ts";
import { makeRole } from "./make-role.ts";

const WORKSPACE = "nullif(current_setting('meter.workspace_id', true), '')::uuid";
const TENANT = `workspace_id = ${WORKSPACE}`;
const ORGANISATION = "organisation_id = nullif(current_setting('meter.organisation_id', true), '')::uuid";
const OWN = "user_id = nullif(current_setting('meter.user_id', true), '')";

/** The role itself, not a login that inherits its rights. */
const PURGE = "current_user = 'meter_purge'";

/** What the purge can do with each table, and which rows it can read. */
const TABLES: Readonly<Record<string, { readonly rights: string; readonly rows: string }>> = {
  requests: { rights: "select, update, delete", rows: TENANT },
  request_bodies: { rights: "select, delete", rows: TENANT },
  request_body_versions: { rights: "select, delete", rows: TENANT },
  usage_hourly: { rights: "select, delete", rows: TENANT },
  usage_daily: { rights: "select, delete", rows: TENANT },
  body_first_sightings: { rights: "select, delete", rows: TENANT },
  machines: { rights: "select, update, delete", rows: TENANT },
  sync_keys: { rights: "select, delete", rows: TENANT },
  // Those that ended long ago, of every workspace.
  invitations: {
    rights: "select, delete",
    rows: `${TENANT} or (${PURGE} and expires_at < now() - interval '29 days')`,
  },
  prompt_view_tickets: { rights: "select, delete", rows: TENANT },
  memberships: { rights: "select, delete", rows: `${TENANT} or ${OWN}` },
  organisation_members: { rights: "select, delete", rows: `${ORGANISATION} or ${OWN}` },
  organisations: {
    rights: "select, update",
    rows: `${ORGANISATION} or (${PURGE} and deleted_at is not null)`,
  },
  workspaces: {
    rights: "select, update",
    rows: `${TENANT} or ${ORGANISATION} or (${PURGE} and deleted_at is not null)`,
  },
  // Rows that remain: their text can be blanked, and nothing else can change.
  prompt_views: {
    rights:
      "select, update (consent_grant_id, reason, client_ip, user_agent, request_sha256, response_sha256, content_salt, erased_at)",
    rows: TENANT,
  },
  audit_events: { rights: "select, update (details, erased_at)", rows: TENANT },
  checkout_consent_records: { rights: "select, update (ip, user_agent)", rows: OWN },
};

/**
 * Adds the purge: a role that can delete and blank, a record of what was erased, and the accounts to erase. Accounts that
 * were deleted earlier are also due 30 days after their deletion.
 */
export const purge: Migration = {
  name: "0007-purge",
  statements: [
    makeRole("meter_purge"),
    "alter table workspaces add column purged_at timestamptz(3)",
    "alter table organisations add column purged_at timestamptz(3)",
    "alter table prompt_views add column content_salt text, add column content_hash text, add column erased_at timestamptz(3)",
    "alter table audit_events add column erased_at timestamptz(3)",
    "create index workspaces_to_purge on workspaces (workspace_id, deleted_at) where deleted_at is not null and purged_at is null",
    `create table account_deletions (
      user_id text primary key,
      deleted_at timestamptz(3) not null,
      closed_at timestamptz(3),
      purged_at timestamptz(3)
    )`,
    "create index account_deletions_open on account_deletions (deleted_at) where purged_at is null",
    `insert into account_deletions (user_id, deleted_at)
      select id, deleted_at from accounts.people where deleted_at is not null`,
    "grant select (user_id), insert on account_deletions to meter_app",
    "grant select, update on account_deletions to meter_purge",
    "alter table account_deletions enable row level security",
    "alter table account_deletions force row level security",
    `create policy account_deletions_read on account_deletions for select to meter_app using (current_user = 'meter_app')`,
    `create policy account_deletions_insert on account_deletions for insert to meter_app with check (${OWN})`,
    `create policy account_deletions_purge on account_deletions to meter_purge using (${PURGE}) with check (${PURGE})`,
    "grant select, delete on pairing_sessions to meter_purge",
    ...Object.entries(TABLES).flatMap(([table, { rights, rows }]) => [
      `grant ${rights} on ${table} to meter_purge`,
      `create policy ${table}_purge on ${table} to meter_purge using (${rows}) with check (${rows})`,
    ]),
  ],
};
