import type { Migration } from "../migration.ts";

const TENANT = "workspace_id = nullif(current_setting('meter.workspace_id', true), '')::uuid";

/** Adds the views of pages that people save, for themselves or for their workspace. */
export const savedViews: Migration = {
  name: "0022-saved-views",
  statements: [
    `create table saved_views (
      workspace_id uuid not null,
      view_id uuid not null,
      user_id text not null,
      name text not null,
      page text not null,
      query text not null,
      is_shared boolean not null,
      created_at timestamptz(3) not null,
      primary key (workspace_id, view_id)
    )`,
    "alter table saved_views enable row level security",
    "alter table saved_views force row level security",
    "grant select, insert, update, delete on saved_views to meter_app",
    `create policy saved_views_all on saved_views to meter_app using (${TENANT}) with check (${TENANT})`,
    "grant select, delete on saved_views to meter_purge",
    `create policy saved_views_purge on saved_views to meter_purge using (${TENANT}) with check (${TENANT})`,
  ],
};
