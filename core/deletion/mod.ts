/**
 * Deletion of a workspace or account: stamped, out of service at once, and nothing removed. A purge about 30 days later is
 * intended and not built, and no promise of erasure is made.
 *
 * ```ts
 * import { purgeDueAt, softDelete } from "./mod.ts";
 *
 * const deleted = softDelete({ deletedAt: null }, Date.UTC(2026, 0, 1));
 * purgeDueAt(deleted) === Date.UTC(2026, 0, 31); // true
 * ```
 *
 * @module
 */
export {
  type AccountDeletion,
  type Deletion,
  decideAccountDeletion,
  type OrganisationMembership,
  PURGE_DELAY_MS,
  purgeDueAt,
  softDelete,
} from "./soft-deletion.ts";
