import type { Migration } from "../migration.ts";

/**
 * Adds what the administrative pages show and change: the zone of a workspace's days, the name that people give a machine, and when
 * a key was last used.
 */
export const administration: Migration = {
  name: "0015-administration",
  statements: [
    "alter table workspaces add column reporting_zone text not null default 'UTC'",
    "alter table machines add column label text",
    "alter table sync_keys add column last_used_at timestamptz(3)",
  ],
};
