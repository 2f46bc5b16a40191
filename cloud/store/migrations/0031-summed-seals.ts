import type { Migration } from "../migration.ts";

/**
 * Counts the seals whose transactions also changed the sums by model. Processes of a version without these sums append seals and don't count
 * them, so `seq - summed_seals` shows whether one did so since it was read.
 */
export const summedSeals: Migration = {
  name: "0031-summed-seals",
  statements: ["alter table cost_seal_heads add column summed_seals bigint not null default 0"],
};
