import type { Migration } from "../migration.ts";

/**
 * Adds a task for each workspace that erases the addresses in audit events of invitations that were deleted by earlier versions. It is due a
 * day later, when no process of such a version deletes more of them.
 */
export const forgottenAddresses: Migration = {
  name: "0033-forgotten-addresses",
  statements: [
    `insert into tasks (kind, task_id, details, due_at)
      select 'forget_invitation', workspace_id, jsonb_build_object('workspaceId', workspace_id), now() + interval '1 day'
      from workspace_directory where purged_at is null`,
  ],
};
