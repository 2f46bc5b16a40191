import type { Migration } from "../migration.ts";

/**
 * Adds a key per workspace for `prompt_hash`, created at the first pairing and given to each paired machine, and the kind
 * of each stored hash. Null is what older daemons send: the plain SHA-256.
 */
export const promptHashKey: Migration = {
  name: "0008-prompt-hash-key",
  statements: [
    "alter table workspaces add column prompt_hash_key bytea",
    "alter table requests add column prompt_hash_kind text",
  ],
};
