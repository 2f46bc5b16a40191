import type { Migration } from "../migration.ts";

const setting = (name: string) => `nullif(current_setting('meter.${name}', true), '')`;
const TENANT = `workspace_id = ${setting("workspace_id")}::uuid`;
const ORGANISATION = `organisation_id = ${setting("organisation_id")}::uuid`;
const OWN = `user_id = ${setting("user_id")}`;

/** The role itself, not a login that inherits its rights. */
const PURGE = "current_user = 'meter_purge'";

/** A task for the purge of ended invitations, in the form of `TaskDetails`. */
const FORGET = "'forget_invitation', i.invitation_id, jsonb_build_object('workspaceId', i.workspace_id)";
const KEPT = "interval '30 days'";

/** A task that continues an erasure. */
const ERASE = "'erase_prompts', e.erasure_id, jsonb_build_object('workspaceId', e.workspace_id)";

/** A trigger that stores what the servers of the previous version do not store themselves. */
const trigger = (name: string, on: string, work: string) => [
  `create function lookup.${name}() returns trigger language plpgsql security definer set search_path = '' as $$
    begin ${work} return null; end $$`,
  `revoke all on function lookup.${name}() from public`,
  `create trigger ${name} ${on} for each row execute function lookup.${name}()`,
];

/** Runs statements that read tables whose policies would hide every row from their owner. */
const unforced = (tables: readonly string[], statements: readonly string[]) => [
  ...tables.map((table) => `alter table ${table} no force row level security`),
  ...statements,
  ...tables.map((table) => `alter table ${table} force row level security`),
];

/**
 * Adds the directory: which workspaces an organisation and a person have, so that no statement looks at all workspaces, and the tasks
 * whose steps are in several places. The triggers are for servers of the previous version beside this one; a cluster has none.
 */
export const directory: Migration = {
  name: "0021-directory",
  statements: [
    `create table workspace_directory (
      workspace_id uuid primary key,
      organisation_id uuid not null,
      deleted_at timestamptz(3),
      purged_at timestamptz(3)
    )`,
    "create index workspace_directory_by_organisation on workspace_directory (organisation_id)",
    "create index workspace_directory_to_purge on workspace_directory (deleted_at) where deleted_at is not null and purged_at is null",
    `create table person_workspaces (
      user_id text not null,
      workspace_id uuid not null,
      primary key (user_id, workspace_id)
    )`,
    "create index person_workspaces_by_workspace on person_workspaces (workspace_id)",
    `create table tasks (
      kind text not null,
      task_id uuid not null,
      details jsonb not null,
      due_at timestamptz(3) not null,
      primary key (kind, task_id)
    )`,
    "create index tasks_by_time on tasks (due_at)",
    "alter table pairing_sessions add column claim uuid, add column claimed_at timestamptz(3)",

    "grant select, insert, update on workspace_directory to meter_app",
    "grant select, update on workspace_directory to meter_purge",
    "grant select, insert on person_workspaces to meter_app",
    "grant select, delete on person_workspaces to meter_purge",
    // Only the purge reads what a task is about.
    "grant select (kind, task_id), insert, update, delete on tasks to meter_app",
    "grant select, delete on tasks to meter_purge",
    ...["workspace_directory", "person_workspaces"].map(
      (table) => `alter table ${table} enable row level security`,
    ),
    `create policy workspace_directory_all on workspace_directory to meter_app
      using (${TENANT} or ${ORGANISATION}) with check (${TENANT} or ${ORGANISATION})`,
    `create policy workspace_directory_purge on workspace_directory to meter_purge using (${PURGE}) with check (${PURGE})`,
    `create policy person_workspaces_all on person_workspaces to meter_app using (${OWN}) with check (${OWN})`,
    `create policy person_workspaces_purge on person_workspaces to meter_purge using (${PURGE})`,
    // A list of a person's workspaces also reads their roles.
    "drop policy memberships_read on memberships",
    `create policy memberships_read on memberships for select to meter_app
      using (${TENANT} or ${OWN} or workspace_id = any (${setting("workspace_ids")}::uuid[]))`,

    ...unforced(
      ["workspaces", "memberships", "invitations", "erasures"],
      [
        "insert into workspace_directory select workspace_id, organisation_id, deleted_at, purged_at from workspaces",
        "insert into person_workspaces select user_id, workspace_id from memberships",
        `insert into tasks select ${FORGET}, i.expires_at + ${KEPT} from invitations i`,
        `insert into tasks select ${ERASE}, e.before from erasures e where finished_at is null`,
      ],
    ),

    ...trigger(
      "add_workspace",
      "after insert on workspaces",
      `insert into public.workspace_directory values (new.workspace_id, new.organisation_id, new.deleted_at, new.purged_at)
        on conflict do nothing;`,
    ),
    ...trigger(
      "end_workspace",
      "after update of deleted_at on workspaces",
      "update public.workspace_directory set deleted_at = new.deleted_at where workspace_id = new.workspace_id;",
    ),
    ...trigger(
      "add_membership",
      "after insert on memberships",
      "insert into public.person_workspaces values (new.user_id, new.workspace_id) on conflict do nothing;",
    ),
    ...trigger(
      "add_invitation",
      "after insert on invitations",
      `insert into public.tasks select ${FORGET}, i.expires_at + ${KEPT} from (select new.*) i on conflict do nothing;`,
    ),
    ...trigger(
      "add_erasure",
      "after insert on erasures",
      `insert into public.tasks select ${ERASE}, e.before from (select new.*) e on conflict do nothing;`,
    ),
  ],
};

/** The triggers that a cluster does not accept. */
export const DIRECTORY_TRIGGERS: Readonly<Record<string, string>> = {
  add_workspace: "workspaces",
  end_workspace: "workspaces",
  add_membership: "memberships",
  add_invitation: "invitations",
  add_erasure: "erasures",
};
