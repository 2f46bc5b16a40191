import type { Migration } from "../migration.ts";

const TENANT = "workspace_id = nullif(current_setting('meter.workspace_id', true), '')::uuid";

const hashColumn = (body: string) => `text generated always as (encode(sha256(${body}), 'hex')) stored`;

/**
 * Adds versions of a body: `request_bodies` holds the latest of each side with the hash of its bytes, and
 * `request_body_versions` the replaced ones. The database computes the hashes, so that they always match the bytes. The
 * ledger of prompt views stores the hashes that a viewer saw; older rows have none.
 */
export const bodyVersions: Migration = {
  name: "0005-body-versions",
  statements: [
    `alter table request_bodies
      add column request_sha256 ${hashColumn("request_body")},
      add column response_sha256 ${hashColumn("response_body")}`,
    `create table request_body_versions (
      workspace_id uuid not null,
      request_id uuid not null,
      direction text not null check (direction in ('request', 'response')),
      version integer not null check (version > 0),
      body bytea not null,
      body_sha256 ${hashColumn("body")},
      content_type text,
      original_size_bytes bigint,
      truncated boolean,
      redaction_applied boolean,
      redaction_summary jsonb,
      stored_at timestamptz(3),
      replaced_at timestamptz(3) not null,
      primary key (workspace_id, request_id, direction, version),
      foreign key (workspace_id, request_id) references request_bodies
    )`,
    // Replaced versions never change.
    "grant select, insert on request_body_versions to meter_app",
    "alter table request_body_versions enable row level security",
    "alter table request_body_versions force row level security",
    `create policy request_body_versions_all on request_body_versions to meter_app
      using (${TENANT}) with check (${TENANT})`,
    "alter table prompt_views add column request_sha256 text, add column response_sha256 text",
  ],
};
