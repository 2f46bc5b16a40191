import type { Migration } from "../migration.ts";

/**
 * Adds the states of rate limits and locks, which all processes share. They belong to no workspace: a client is a hash. The table is
 * unlogged: after a crash of the server, the limits start again.
 */
export const limitStates: Migration = {
  name: "0024-limit-states",
  statements: [
    `create unlogged table limit_states (
      client_hash bytea primary key,
      state jsonb not null,
      expires_at timestamptz(3) not null
    )`,
    "grant select, insert, update, delete on limit_states to meter_app",
  ],
};
