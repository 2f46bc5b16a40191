import type { Migration } from "../migration.ts";
import { makeRole } from "./make-role.ts";

const TENANT = "workspace_id = nullif(current_setting('meter.workspace_id', true), '')::uuid";

const ACCOUNT_TABLES = ["people", "sessions", "credentials", "verifications"];

/**
 * Adds accounts, in their own schema and under their own role: the role that serves requests cannot read password hashes or
 * sessions, and the role that signs people in cannot read their requests. The columns are those that better-auth 1.6 reads
 * and writes, in snake_case. Also adds invitations, which belong to a workspace.
 */
export const accounts: Migration = {
  name: "0002-accounts",
  statements: [
    makeRole("meter_accounts"),
    "create schema accounts",
    `create table accounts.people (
      id text primary key,
      name text not null,
      email text not null unique,
      email_verified boolean not null default false,
      image text,
      created_at timestamptz(3) not null,
      updated_at timestamptz(3) not null,
      deleted_at timestamptz(3),
      is_first boolean check (is_first)
    )`,
    // At most one account is the server's first, even if several are created at the same moment.
    "create unique index people_one_first on accounts.people (is_first)",
    `create table accounts.sessions (
      id text primary key,
      user_id text not null references accounts.people,
      token text not null unique,
      expires_at timestamptz(3) not null,
      ip_address text,
      user_agent text,
      created_at timestamptz(3) not null,
      updated_at timestamptz(3) not null
    )`,
    "create index sessions_by_user on accounts.sessions (user_id)",
    `create table accounts.credentials (
      id text primary key,
      user_id text not null references accounts.people,
      provider_id text not null,
      account_id text not null,
      password text,
      access_token text,
      refresh_token text,
      id_token text,
      access_token_expires_at timestamptz(3),
      refresh_token_expires_at timestamptz(3),
      scope text,
      created_at timestamptz(3) not null,
      updated_at timestamptz(3) not null,
      unique (provider_id, account_id)
    )`,
    "create index credentials_by_user on accounts.credentials (user_id)",
    `create table accounts.verifications (
      id text primary key,
      identifier text not null,
      value text not null,
      expires_at timestamptz(3) not null,
      created_at timestamptz(3) not null,
      updated_at timestamptz(3) not null
    )`,
    "create index verifications_by_identifier on accounts.verifications (identifier)",
    "grant usage on schema accounts to meter_accounts",
    ...ACCOUNT_TABLES.map(
      (table) => `grant select, insert, update, delete on accounts.${table} to meter_accounts`,
    ),

    `create table invitations (
      workspace_id uuid not null references workspaces,
      invitation_id uuid not null,
      token_hash bytea not null,
      email text not null,
      role text not null check (role in ('admin', 'member')),
      invited_by text not null,
      created_at timestamptz(3) not null,
      expires_at timestamptz(3) not null,
      accepted_at timestamptz(3),
      accepted_by text,
      revoked_at timestamptz(3),
      primary key (workspace_id, invitation_id)
    )`,
    "create unique index invitations_by_token on invitations (workspace_id, token_hash)",
    "grant select, insert, update on invitations to meter_app",
    "alter table invitations enable row level security",
    "alter table invitations force row level security",
    `create policy invitations_all on invitations to meter_app using (${TENANT}) with check (${TENANT})`,
  ],
};
