import type { Migration } from "../migration.ts";

const TENANT = "workspace_id = nullif(current_setting('meter.workspace_id', true), '')::uuid";

/**
 * Adds the keys of bodies, whose bytes are not in this database, and the erasures. A sealed side has the id of its key and the
 * hash of its content; one that was stored before has neither, and its hash is that of its bytes.
 */
export const bodyKeys: Migration = {
  name: "0016-body-keys",
  statements: [
    `create table body_keys (
      workspace_id uuid not null,
      key_id uuid not null,
      user_id text not null,
      project text not null,
      created_at timestamptz(3) not null,
      destroyed_at timestamptz(3),
      shredded_at timestamptz(3),
      primary key (workspace_id, key_id)
    )`,
    `create unique index body_keys_in_use on body_keys (workspace_id, user_id, project)
      where destroyed_at is null`,
    `create table erasures (
      workspace_id uuid not null,
      erasure_id uuid not null,
      user_id text,
      project text,
      before timestamptz(3) not null,
      actor_user_id text,
      bodies integer not null default 0,
      replaced_versions integer not null default 0,
      requests integer not null default 0,
      views integer not null default 0,
      events integer not null default 0,
      finished_at timestamptz(3),
      certificate text,
      primary key (workspace_id, erasure_id)
    )`,
    "alter table workspaces add column prompts_erased_at timestamptz(3)",
    "alter table request_bodies add column request_key_id uuid, add column response_key_id uuid",
    "alter table request_bodies add column request_content_sha256 text, add column response_content_sha256 text",
    "alter table request_body_versions add column key_id uuid, add column content_sha256 text",
    ...["body_keys", "erasures"].flatMap((table) => [
      `alter table ${table} enable row level security`,
      `alter table ${table} force row level security`,
      `create policy ${table}_all on ${table} to meter_app using (${TENANT}) with check (${TENANT})`,
      `grant select, insert, update, delete on ${table} to meter_purge`,
    ]),
    `create policy body_keys_purge on body_keys to meter_purge using (${TENANT}) with check (${TENANT})`,
    `create policy erasures_purge on erasures to meter_purge using (${TENANT}) with check (${TENANT})`,
    // The purge's job finds those that were interrupted, in every workspace. The role itself, not a login that inherits its rights.
    `create policy erasures_unfinished on erasures for select to meter_purge
      using (current_user = 'meter_purge' and finished_at is null)`,
    // A lock on a key's row needs the right to update one of its columns.
    "grant select, insert, update (shredded_at) on body_keys to meter_app",
    "grant select, insert on erasures to meter_app",
  ],
};
