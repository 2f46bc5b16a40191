import type { Migration } from "../migration.ts";

/** Adds the index that finds the requests of a session. */
export const sessionIndex: Migration = {
  name: "0019-session-index",
  statements: [
    "create index requests_by_session on requests (workspace_id, session_id, requested_at) where session_id is not null",
  ],
};
