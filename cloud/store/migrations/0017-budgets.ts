import type { Migration } from "../migration.ts";

const TENANT = "workspace_id = nullif(current_setting('meter.workspace_id', true), '')::uuid";

/**
 * Adds the budgets of workspaces, and the warnings that were sent about them. The target is empty for a budget of the workspace. The
 * index is for budgets in requests: refused calls have no tokens and no cost, but the rollups count them.
 */
export const budgets: Migration = {
  name: "0017-budgets",
  statements: [
    `create table budgets (
      workspace_id uuid not null,
      budget_id uuid not null,
      name text not null,
      subject text not null,
      target text not null,
      terms text not null,
      is_paused boolean not null,
      lifted_until timestamptz(3),
      created_by text not null,
      created_at timestamptz(3) not null,
      primary key (workspace_id, budget_id)
    )`,
    "create unique index budgets_by_name on budgets (workspace_id, name)",
    `create table budget_warnings (
      workspace_id uuid not null,
      budget_id uuid not null,
      period_from timestamptz(3) not null,
      threshold integer not null,
      limit_amount numeric not null,
      tried_at timestamptz(3) not null,
      sent_at timestamptz(3),
      primary key (workspace_id, budget_id, period_from, threshold, limit_amount)
    )`,
    `create index requests_refused on requests (workspace_id, requested_at) where blocked_by is not null`,
    ...["budgets", "budget_warnings"].flatMap((table) => [
      `alter table ${table} enable row level security`,
      `alter table ${table} force row level security`,
      `grant select, insert, update, delete on ${table} to meter_app`,
      `create policy ${table}_all on ${table} to meter_app using (${TENANT}) with check (${TENANT})`,
      `grant select, delete on ${table} to meter_purge`,
      `create policy ${table}_purge on ${table} to meter_purge using (${TENANT}) with check (${TENANT})`,
    ]),
  ],
};
