import type { Migration } from "../migration.ts";

const TENANT = "workspace_id = nullif(current_setting('meter.workspace_id', true), '')::uuid";

/**
 * Adds the sums of `coverage_hours` by UTC day, so that a page reads a tenth of the rows. A task for each workspace sums up, a day later,
 * what processes of the version before may have stored beside these sums.
 */
export const coverageDays: Migration = {
  name: "0029-coverage-days",
  statements: [
    `create table coverage_days (
      workspace_id uuid not null,
      day date not null,
      machine_id uuid not null,
      metered bigint not null,
      seen bigint not null,
      counts jsonb not null,
      primary key (workspace_id, day, machine_id)
    )`,
    "alter table coverage_hours no force row level security",
    `insert into coverage_days (workspace_id, day, machine_id, metered, seen, counts)
      select h.workspace_id, h.day, h.machine_id, h.metered, h.seen, coalesce(k.counts, '{}')
      from (
        select workspace_id, (hour at time zone 'UTC')::date as day, machine_id, sum(metered) as metered, sum(seen) as seen
        from coverage_hours group by 1, 2, 3
      ) as h left join (
        select workspace_id, day, machine_id,
          jsonb_object_agg(kind, jsonb_build_object('count', count, 'hour', to_char(hour at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'))) as counts
        from (
          select h.workspace_id, (h.hour at time zone 'UTC')::date as day, h.machine_id, c.kind, sum(c.count::bigint) as count,
            max(h.hour) as hour
          from coverage_hours h cross join lateral jsonb_each_text(h.counts) as c (kind, count) group by 1, 2, 3, 4
        ) as kinds group by 1, 2, 3
      ) as k using (workspace_id, day, machine_id)`,
    "alter table coverage_hours force row level security",
    "alter table coverage_days enable row level security",
    "alter table coverage_days force row level security",
    "grant select, insert, update, delete on coverage_days to meter_app",
    `create policy coverage_days_all on coverage_days to meter_app using (${TENANT}) with check (${TENANT})`,
    "grant select, delete on coverage_days to meter_purge",
    `create policy coverage_days_purge on coverage_days to meter_purge using (${TENANT}) with check (${TENANT})`,
    `insert into tasks (kind, task_id, details, due_at)
      select 'sum_coverage', workspace_id, '{}'::jsonb, now() + interval '1 day' from workspace_directory where purged_at is null`,
  ],
};
