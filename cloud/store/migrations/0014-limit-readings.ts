import type { Migration } from "../migration.ts";

const TENANT = "workspace_id = nullif(current_setting('meter.workspace_id', true), '')::uuid";

/**
 * Adds the latest reading of each limit's window, by machine. The account and the scope are empty instead of null, because they
 * are part of the key. Older daemons send none.
 */
export const limitReadings: Migration = {
  name: "0014-limit-readings",
  statements: [
    `create table limit_readings (
      workspace_id uuid not null,
      machine_id uuid not null,
      user_id text,
      provider text not null,
      account text not null,
      window_name text not null,
      scope text not null,
      unit text not null,
      window_ms bigint,
      used_ppm bigint,
      limit_amount bigint,
      remaining_amount bigint,
      reset_at timestamptz(3),
      status text,
      seen_at timestamptz(3) not null,
      primary key (workspace_id, machine_id, provider, account, window_name, scope, unit)
    )`,
    "alter table limit_readings enable row level security",
    "alter table limit_readings force row level security",
    "grant select, insert, update, delete on limit_readings to meter_app",
    `create policy limit_readings_all on limit_readings to meter_app using (${TENANT}) with check (${TENANT})`,
    "grant select, delete on limit_readings to meter_purge",
    `create policy limit_readings_purge on limit_readings to meter_purge using (${TENANT}) with check (${TENANT})`,
  ],
};
