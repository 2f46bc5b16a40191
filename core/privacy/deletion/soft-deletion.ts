import type { Millis } from "../../values/time.ts";

/** Time from `deleted_at` to the purge, in milliseconds. Source: docs/specification.md#limits: about 30 days. */
export const PURGE_DELAY_MS = 30 * 86_400_000;

/** Whether a workspace or account is deleted, and since when. */
export interface Deletion {
  readonly deletedAt: Millis | null;
}

/** Marks a workspace or account as deleted. A second deletion keeps the first time, so it does not postpone the purge. */
export function softDelete(current: Deletion, now: Millis): { readonly deletedAt: Millis } {
  return { deletedAt: current.deletedAt ?? now };
}

/** Returns when the purge is due; `null` if not deleted. */
export function purgeDueAt({ deletedAt }: Deletion): Millis | null {
  return deletedAt === null ? null : deletedAt + PURGE_DELAY_MS;
}

/** The membership of the account to be deleted in one organisation. */
export interface OrganisationMembership {
  readonly organisationId: string;
  readonly isOwner: boolean;
  /** Owners other than the account. */
  readonly otherOwners: number;
  /** Members other than the account, owners included. */
  readonly otherMembers: number;
}

/** Whether an account may be deleted, and which organisations are deleted with it. */
type AccountDeletion =
  | { readonly ok: true; readonly deletesOrganisations: readonly string[] }
  | { readonly ok: false; readonly reason: "sole_owner"; readonly organisations: readonly string[] };

/**
 * Decides on the deletion of an account. It is refused (409) while the account is the sole owner of an organisation that
 * has other members. Organisations without other members are deleted too, since no one could reach them.
 */
export function decideAccountDeletion(memberships: readonly OrganisationMembership[]): AccountDeletion {
  const orphaned = memberships.filter(({ isOwner, otherOwners }) => isOwner && otherOwners === 0);
  const ids = (some: readonly OrganisationMembership[]) => some.map(({ organisationId }) => organisationId);
  const blocking = orphaned.filter(({ otherMembers }) => otherMembers > 0);
  if (blocking.length > 0) return { ok: false, reason: "sole_owner", organisations: ids(blocking) };
  return { ok: true, deletesOrganisations: ids(orphaned) };
}
