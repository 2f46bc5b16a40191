import type { Migration } from "../migration.ts";

/** Adds sessions and agents (as keyed hashes), Git, and where a record comes from. Older daemons send none of these. */
export const sessionColumns: Migration = {
  name: "0012-session-columns",
  statements: [
    `alter table requests
      add column session_id text,
      add column session_source text,
      add column turn_id text,
      add column agent_id text,
      add column parent_agent_id text,
      add column agent_kind text,
      add column client_version text,
      add column git_branch text,
      add column git_commit text,
      add column git_remote text,
      add column pull_request bigint,
      add column record_source text`,
  ],
};
