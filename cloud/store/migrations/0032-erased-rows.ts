import type { Migration } from "../migration.ts";

/**
 * Adds how many rows a purge erased, by their kind: while it runs in each workspace, by its subject, and when it has finished with the subject.
 * Null: erased by a version that did not count.
 */
export const erasedRows: Migration = {
  name: "0032-erased-rows",
  statements: ["workspaces", "workspace_directory", "organisations", "account_deletions"].map(
    (table) => `alter table ${table} add column erased_rows jsonb`,
  ),
};
