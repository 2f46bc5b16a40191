import type { Migration } from "../migration.ts";

const TENANT = "workspace_id = nullif(current_setting('meter.workspace_id', true), '')::uuid";

/**
 * Adds tickets: what a view that was recorded beforehand (`POST /v1/audit/prompt-views`) still allows. They are not columns
 * of `prompt_views`, whose rows never change.
 */
export const promptViewTickets: Migration = {
  name: "0003-prompt-view-tickets",
  statements: [
    `create table prompt_view_tickets (
      workspace_id uuid not null references workspaces,
      view_id uuid not null,
      request_id uuid not null,
      viewer_user_id text not null,
      expires_at timestamptz(3) not null,
      used_at timestamptz(3),
      primary key (workspace_id, view_id)
    )`,
    "create index prompt_view_tickets_by_expiry on prompt_view_tickets (workspace_id, expires_at)",
    "grant select, insert, update, delete on prompt_view_tickets to meter_app",
    "alter table prompt_view_tickets enable row level security",
    "alter table prompt_view_tickets force row level security",
    `create policy prompt_view_tickets_all on prompt_view_tickets to meter_app
      using (${TENANT}) with check (${TENANT})`,
  ],
};
