import type { Migration } from "../migration.ts";

/**
 * Adds the sums of the whole workspace by provider and model to `usage_branches`, in rows whose `span_hours` are -1 and -24. They are complete
 * up to the cost seal `summed_seq`: processes of the previous version append seals without changing it. A task for each workspace sums up what
 * it has.
 */
export const modelSums: Migration = {
  name: "0030-model-sums",
  statements: [
    "alter table cost_seal_heads add column summed_seq bigint",
    `insert into tasks (kind, task_id, details, due_at)
      select 'sum_models', workspace_id, '{}'::jsonb, now() from workspace_directory where purged_at is null`,
  ],
};
