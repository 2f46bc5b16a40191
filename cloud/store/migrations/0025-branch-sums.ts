import type { Migration } from "../migration.ts";

const TENANT = "workspace_id = nullif(current_setting('meter.workspace_id', true), '')::uuid";

/**
 * Adds the sums by branch, of hours and of days. They are a table of their own, without machines and people, since the branches would
 * multiply the rows of the other rollups. A task for each workspace sums up the requests that it has; what is not summed yet is read from requests.
 */
export const branchSums: Migration = {
  name: "0025-branch-sums",
  statements: [
    `create table usage_branches (
      workspace_id uuid not null,
      span_hours smallint not null,
      starts_at timestamptz(0) not null,
      project text not null,
      git_branch text not null,
      provider text not null,
      model text not null,
      requests bigint not null default 0,
      failed_requests bigint not null default 0,
      unpriced_requests bigint not null default 0,
      incomplete_requests bigint not null default 0,
      prompt_tokens numeric not null default 0,
      completion_tokens numeric not null default 0,
      cache_read_tokens numeric not null default 0,
      cache_write_tokens numeric not null default 0,
      thinking_tokens numeric not null default 0,
      cost_pico_usd numeric not null default 0,
      spent_pico_usd numeric not null default 0,
      plan_usage_pico_usd numeric not null default 0,
      primary key (workspace_id, span_hours, starts_at, project, git_branch, provider, model)
    ) with (fillfactor = 70)`,
    "alter table usage_branches enable row level security",
    "alter table usage_branches force row level security",
    "grant select, insert, update on usage_branches to meter_app",
    `create policy usage_branches_all on usage_branches to meter_app using (${TENANT}) with check (${TENANT})`,
    // The purge erases the branches of a person's requests.
    "grant select, insert, update, delete on usage_branches to meter_purge",
    `create policy usage_branches_purge on usage_branches to meter_purge using (${TENANT}) with check (${TENANT})`,
    `insert into tasks (kind, task_id, details, due_at)
      select 'sum_branches', workspace_id, '{}'::jsonb, now() from workspace_directory where purged_at is null`,
  ],
};
