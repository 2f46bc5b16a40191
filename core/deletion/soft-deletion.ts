import type { Millis } from "../time.ts";

/** From `deleted_at` to the intended purge. Source: contract, "Limits": about 30 days; the purge itself is not built. */
export const PURGE_DELAY_MS = 30 * 86_400_000;

/** Whether a workspace or account is deleted, and since when. */
export interface Deletion {
  readonly deletedAt: Millis | null;
}

/** Deletes softly. What is deleted keeps its first time, so that deleting twice puts nothing off. */
export function softDelete(current: Deletion, now: Millis): { readonly deletedAt: Millis } {
  return { deletedAt: current.deletedAt ?? now };
}

/** When a purge is intended; `null` while nothing is deleted. Shown only: no data is removed by it. */
export function purgeDueAt({ deletedAt }: Deletion): Millis | null {
  return deletedAt === null ? null : deletedAt + PURGE_DELAY_MS;
}

/** An organisation, as the account that is to be deleted stands in it. */
export interface OrganisationMembership {
  readonly organisationId: string;
  readonly isOwner: boolean;
  /** Without the account itself. */
  readonly otherOwners: number;
  /** Without the account itself, owners included. */
  readonly otherMembers: number;
}

/** Whether an account may be deleted, and what goes with it. */
export type AccountDeletion =
  | { readonly ok: true; readonly deletesOrganisations: readonly string[] }
  | { readonly ok: false; readonly reason: "sole_owner"; readonly organisations: readonly string[] };

/**
 * Decides on the deletion of an account: refused (409) while it is the sole owner of an organisation with others. What it
 * owns alone goes with it, since nobody could reach it any more.
 */
export function decideAccountDeletion(memberships: readonly OrganisationMembership[]): AccountDeletion {
  const orphaned = memberships.filter(({ isOwner, otherOwners }) => isOwner && otherOwners === 0);
  const ids = (some: readonly OrganisationMembership[]) => some.map(({ organisationId }) => organisationId);
  const blocking = orphaned.filter(({ otherMembers }) => otherMembers > 0);
  if (blocking.length > 0) return { ok: false, reason: "sole_owner", organisations: ids(blocking) };
  return { ok: true, deletesOrganisations: ids(orphaned) };
}
