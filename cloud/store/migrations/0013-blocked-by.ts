import type { Migration } from "../migration.ts";

/** Adds the budget that refused a call. Older daemons send none. */
export const blockedBy: Migration = {
  name: "0013-blocked-by",
  statements: ["alter table requests add column blocked_by text"],
};
