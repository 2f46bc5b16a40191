import type { Migration } from "../migration.ts";

const TENANT = "workspace_id = nullif(current_setting('meter.workspace_id', true), '')::uuid";

/**
 * Chains audit events by hashes, like the ledger of prompt views. Older events have no `seq`; the chain starts after them.
 * The head also stores the hash before its own, so that one statement can append an event.
 */
export const auditEventChain: Migration = {
  name: "0009-audit-event-chain",
  statements: [
    `create table audit_event_heads (
      workspace_id uuid primary key references workspaces,
      seq bigint not null,
      prev_hash text not null,
      hash text not null
    )`,
    "grant select, insert, update on audit_event_heads to meter_app",
    "alter table audit_event_heads enable row level security",
    "alter table audit_event_heads force row level security",
    `create policy audit_event_heads_all on audit_event_heads to meter_app
      using (${TENANT}) with check (${TENANT})`,
    `alter table audit_events add column seq bigint, add column prev_hash text, add column hash text,
      add column content_salt text, add column content_hash text`,
    "create unique index audit_events_by_seq on audit_events (workspace_id, seq)",
    "grant update (content_salt) on audit_events to meter_purge",
  ],
};
