import type { Migration } from "../migration.ts";

const TENANT = "workspace_id = nullif(current_setting('meter.workspace_id', true), '')::uuid";

/**
 * Adds what machines counted by hour, when their daemons ran, and when they last reported it. The key begins with the hour because a
 * query covers a period of all machines. Older daemons report nothing, so their coverage is unknown.
 */
export const coverage: Migration = {
  name: "0020-coverage",
  statements: [
    `create table coverage_hours (
      workspace_id uuid not null,
      hour timestamptz(0) not null,
      machine_id uuid not null,
      as_of timestamptz(3) not null,
      metered bigint not null,
      seen bigint not null,
      counts jsonb not null,
      primary key (workspace_id, hour, machine_id)
    )`,
    `create table daemon_runs (
      workspace_id uuid not null,
      machine_id uuid not null,
      run_from timestamptz(3) not null,
      run_to timestamptz(3) not null,
      primary key (workspace_id, machine_id, run_from)
    )`,
    "alter table machines add column coverage_at timestamptz(3), add column queued_requests bigint",
    ...["coverage_hours", "daemon_runs"].flatMap((table) => [
      `alter table ${table} enable row level security`,
      `alter table ${table} force row level security`,
      `grant select, insert, update, delete on ${table} to meter_app`,
      `create policy ${table}_all on ${table} to meter_app using (${TENANT}) with check (${TENANT})`,
      `grant select, delete on ${table} to meter_purge`,
      `create policy ${table}_purge on ${table} to meter_purge using (${TENANT}) with check (${TENANT})`,
    ]),
  ],
};
