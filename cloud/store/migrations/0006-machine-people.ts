import type { Migration } from "../migration.ts";

/**
 * Makes a machine a workspace, a fingerprint and a person: two people who share a host each have a machine with its own
 * key. Older machines belong to the person of their latest key. `approved_by` and `decided_by` name the person who approved
 * a pairing, if that is not the person who uses the machine.
 */
export const machinePeople: Migration = {
  name: "0006-machine-people",
  statements: [
    "alter table machines add column user_id text, add column approved_by text",
    // The policies apply to the owner of the tables too, which would see no rows.
    "alter table machines no force row level security",
    "alter table sync_keys no force row level security",
    `update machines m set user_id = k.user_id, approved_by = k.user_id
      from (
        select distinct on (workspace_id, machine_id) workspace_id, machine_id, user_id
        from sync_keys where machine_id is not null
        order by workspace_id, machine_id, created_at desc, key_id desc
      ) k
      where k.workspace_id = m.workspace_id and k.machine_id = m.machine_id`,
    "alter table machines force row level security",
    "alter table sync_keys force row level security",
    "drop index machines_by_fingerprint",
    "create unique index machines_by_fingerprint on machines (workspace_id, fingerprint, user_id)",
    "alter table pairing_sessions add column decided_by text",
  ],
};
