import type { Migration } from "../migration.ts";

const TENANT = "workspace_id = nullif(current_setting('meter.workspace_id', true), '')::uuid";

const chainTable = (table: string) => [
  `alter table ${table} enable row level security`,
  `alter table ${table} force row level security`,
  `create policy ${table}_all on ${table} to meter_app using (${TENANT}) with check (${TENANT})`,
];

/**
 * Adds cost seals: one row for each transaction of the ingest, with a digest of each request, chained by hashes.
 * `requests.cost_seal` names the seal that filled a request in last. Older requests have no seal.
 */
export const costSeals: Migration = {
  name: "0010-cost-seals",
  statements: [
    `create table cost_seal_heads (
      workspace_id uuid primary key,
      seq bigint not null,
      prev_hash text not null,
      hash text not null
    )`,
    `create table cost_seals (
      workspace_id uuid not null,
      seq bigint not null,
      kind text not null check (kind in ('stored', 'filled')),
      sealed_at timestamptz(3) not null,
      leaves bytea,
      content_hash text not null,
      prev_hash text not null,
      hash text not null,
      erased_at timestamptz(3),
      primary key (workspace_id, seq)
    )`,
    // Digests do not compress.
    "alter table cost_seals alter column leaves set storage external",
    "alter table requests add column cost_seal bigint",
    "grant select, insert, update on cost_seal_heads to meter_app",
    "grant select, insert on cost_seals to meter_app",
    ...chainTable("cost_seal_heads"),
    ...chainTable("cost_seals"),
    "grant select, update (leaves, erased_at) on cost_seals to meter_purge",
    `create policy cost_seals_purge on cost_seals to meter_purge using (${TENANT}) with check (${TENANT})`,
  ],
};
