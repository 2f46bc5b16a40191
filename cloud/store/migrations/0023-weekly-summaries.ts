import type { Migration } from "../migration.ts";

/** The role itself, not a login that inherits its rights. */
const PURGE = "current_user = 'meter_purge'";
const OWN = "user_id = nullif(current_setting('meter.user_id', true), '')";

/**
 * Adds who gets the weekly email about a workspace, and the Monday of the last one. The token is for the link that ends the emails;
 * it allows nothing else. The purge's role lists whose email is due.
 */
export const weeklySummaries: Migration = {
  name: "0023-weekly-summaries",
  statements: [
    `create table weekly_summaries (
      user_id text not null,
      workspace_id uuid not null,
      token text not null,
      created_at timestamptz(3) not null,
      sent_until text not null,
      tried_at timestamptz(3),
      primary key (user_id, workspace_id)
    )`,
    "create index weekly_summaries_by_workspace on weekly_summaries (workspace_id)",
    "alter table weekly_summaries enable row level security",
    "grant select, insert, update, delete on weekly_summaries to meter_app",
    `create policy weekly_summaries_all on weekly_summaries to meter_app using (${OWN}) with check (${OWN})`,
    "grant select, delete on weekly_summaries to meter_purge",
    `create policy weekly_summaries_purge on weekly_summaries to meter_purge using (${PURGE})`,
  ],
};
