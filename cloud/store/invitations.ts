import { sql } from "kysely";
import { PURGE_DELAY_MS } from "../../core/privacy/deletion/soft-deletion.ts";
import type { Millis } from "../../core/values/time.ts";
import { expectRows, updateOne } from "./affected-rows.ts";
import { addAuditEvent, type Change } from "./audit-events.ts";
import { blankEvents } from "./delete-and-blank.ts";
import { addPersonToDirectory } from "./directory.ts";
import type { CloudDatabase } from "./open-database.ts";
import { joinOrganisation } from "./organisations.ts";
import { addTask, RESUME_AFTER_MS, removeTask, type Task } from "./tasks.ts";
import { enterOrganisation, inScope, lockWorkspace } from "./transaction.ts";

/** How long an invitation can be accepted, milliseconds. Decision: a week. */
export const INVITATION_TTL_MS = 7 * 86_400_000;

/** How long an invitation is stored after it ended without being accepted, milliseconds. It holds an address that may belong to no account. */
const INVITATION_KEPT_MS = PURGE_DELAY_MS;

/** Most pending invitations per workspace, since each one sends an email. Decision. */
export const MAX_WAITING_INVITATIONS = 200;

/** An invitation that can still be accepted. */
export interface Invitation {
  readonly invitationId: string;
  readonly email: string;
  readonly role: "admin" | "member";
  readonly createdAt: Millis;
  readonly expiresAt: Millis;
}

/**
 * Stores an invitation and revokes an earlier one to the same address. Null if too many are pending. Concurrent calls wait for each other
 * at the workspace's row, so the number is exact and an address has one link that works.
 */
export async function addInvitation(
  db: CloudDatabase,
  workspaceId: string,
  fresh: Pick<Invitation, "invitationId" | "email" | "role"> & { readonly tokenHash: Uint8Array },
  change: Change & { readonly userId: string },
): Promise<Invitation | null> {
  const { invitationId, email, role, tokenHash } = fresh;
  const { now } = change;
  await inScope(db, {}, (trx) =>
    addTask(
      trx,
      "forget_invitation",
      invitationId,
      { workspaceId },
      // The earliest that it may be deleted: it can be revoked at once.
      now + INVITATION_KEPT_MS + 1,
    ),
  );
  return await inScope(db, { workspaceId, readsThenWrites: true }, async (trx) => {
    await lockWorkspace(trx, workspaceId);
    await trx
      .updateTable("invitations")
      .set({ revoked_at: now })
      .where("workspace_id", "=", workspaceId)
      .where("email", "=", email)
      .where("accepted_at", "is", null)
      .where("revoked_at", "is", null)
      .execute();
    const { rows } = await sql<{ n: string }>`select count(*) as n from invitations
      where workspace_id = ${workspaceId}::uuid and accepted_at is null and revoked_at is null
        and expires_at > ${now}::timestamptz`.execute(trx);
    if (Number(rows[0]?.n) >= MAX_WAITING_INVITATIONS) return null;
    const expiresAt = now + INVITATION_TTL_MS;
    await trx
      .insertInto("invitations")
      .values({
        workspace_id: workspaceId,
        invitation_id: invitationId,
        token_hash: tokenHash,
        email,
        role,
        invited_by: change.userId,
        created_at: now,
        expires_at: expiresAt,
      })
      .execute();
    await addAuditEvent(trx, workspaceId, "member_invited", change, { email, role });
    return { invitationId, email, role, createdAt: now, expiresAt };
  });
}

/** Lists pending invitations, newest first. */
export async function listInvitations(
  db: CloudDatabase,
  workspaceId: string,
  now: Millis,
): Promise<readonly Invitation[]> {
  const rows = await inScope(db, { workspaceId }, (trx) =>
    trx
      .selectFrom("invitations")
      .select(["invitation_id", "email", "role", "created_at", "expires_at"])
      .where("workspace_id", "=", workspaceId)
      .where("accepted_at", "is", null)
      .where("revoked_at", "is", null)
      .where("expires_at", ">", now)
      .orderBy("created_at", "desc")
      .orderBy("invitation_id", "desc")
      .execute(),
  );
  return rows.map(({ invitation_id, email, role, created_at, expires_at }) => ({
    invitationId: invitation_id,
    email,
    role,
    createdAt: created_at,
    expiresAt: expires_at,
  }));
}

/** Revokes an invitation; false if no pending invitation has that id. */
export async function revokeInvitation(
  db: CloudDatabase,
  workspaceId: string,
  invitationId: string,
  change: Change,
): Promise<boolean> {
  return await inScope(db, { workspaceId }, async (trx) => {
    const revoked = await trx
      .updateTable("invitations")
      .set({ revoked_at: change.now })
      .where("workspace_id", "=", workspaceId)
      .where("invitation_id", "=", invitationId)
      .where("accepted_at", "is", null)
      .where("revoked_at", "is", null)
      .returning("email")
      .executeTakeFirst();
    if (revoked === undefined) return false;
    await addAuditEvent(trx, workspaceId, "invitation_revoked", change, { email: revoked.email });
    return true;
  });
}

/** Gives a pending invitation a new token and the full time; the earlier link stops working. Null if there is none with that id. */
export async function renewInvitation(
  db: CloudDatabase,
  workspaceId: string,
  invitationId: string,
  tokenHash: Uint8Array,
  change: Change,
): Promise<Invitation | null> {
  const { now } = change;
  return await inScope(db, { workspaceId }, async (trx) => {
    const renewed = await trx
      .updateTable("invitations")
      .set({ token_hash: tokenHash, expires_at: now + INVITATION_TTL_MS })
      .where("workspace_id", "=", workspaceId)
      .where("invitation_id", "=", invitationId)
      .where("accepted_at", "is", null)
      .where("revoked_at", "is", null)
      .where("expires_at", ">", now)
      .returning(["email", "role", "created_at", "expires_at"])
      .executeTakeFirst();
    if (renewed === undefined) return null;
    const { email, role, created_at: createdAt, expires_at: expiresAt } = renewed;
    await addAuditEvent(trx, workspaceId, "invitation_resent", change, { email });
    return { invitationId, email, role, createdAt, expiresAt };
  });
}

/** An invitation as shown to the holder of its token. */
export interface InvitationView extends Pick<Invitation, "email" | "role" | "expiresAt"> {
  readonly workspaceId: string;
  readonly workspaceName: string;
  readonly organisationName: string;
  /** Null while it can still be accepted. */
  readonly acceptedBy: string | null;
}

/** Finds the invitation of a token; null if it is unknown, revoked or expired. */
export async function findInvitation(
  db: CloudDatabase,
  workspaceId: string,
  tokenHash: Uint8Array,
  now: Millis,
): Promise<InvitationView | null> {
  return await inScope(db, { workspaceId }, async (trx) => {
    const found = await trx
      .selectFrom("invitations as i")
      .innerJoin("workspaces as w", "w.workspace_id", "i.workspace_id")
      .select(["i.email", "i.role", "i.expires_at", "i.accepted_by", "w.name", "w.organisation_id"])
      .where("i.workspace_id", "=", workspaceId)
      .where("i.token_hash", "=", tokenHash)
      .where("i.revoked_at", "is", null)
      .where("i.expires_at", ">", now)
      .where("w.deleted_at", "is", null)
      .executeTakeFirst();
    if (found === undefined) return null;
    await enterOrganisation(trx, found.organisation_id);
    const organisation = await trx
      .selectFrom("organisations")
      .select("name")
      .where("organisation_id", "=", found.organisation_id)
      .executeTakeFirstOrThrow();
    return {
      workspaceId,
      workspaceName: found.name,
      organisationName: organisation.name,
      email: found.email,
      role: found.role,
      expiresAt: found.expires_at,
      acceptedBy: found.accepted_by,
    };
  });
}

/** Whether the token belongs to an invitation to this address that can still be accepted. */
export async function isInvited(
  db: CloudDatabase,
  workspaceId: string,
  tokenHash: Uint8Array,
  email: string,
  now: Millis,
): Promise<boolean> {
  const found = await findInvitation(db, workspaceId, tokenHash, now);
  return found !== null && found.acceptedBy === null && found.email === email.toLowerCase();
}

/**
 * Accepts an invitation, once: a single statement decides between simultaneous calls. Only the invited email address can
 * accept, so that a leaked link is useless to anyone else. Null if the invitation cannot be accepted.
 *
 * An existing member keeps the higher of the two roles.
 */
export async function acceptInvitation(
  db: CloudDatabase,
  workspaceId: string,
  tokenHash: Uint8Array,
  person: { readonly userId: string; readonly email: string | null },
  now: Millis,
): Promise<{ readonly workspaceId: string } | null> {
  const { userId, email } = person;
  if (email === null) return null;
  const found = await inScope(db, { workspaceId }, (trx) =>
    trx
      .selectFrom("invitations")
      .select("invitation_id")
      .where("workspace_id", "=", workspaceId)
      .where("token_hash", "=", tokenHash)
      .where("email", "=", email.toLowerCase())
      .where("accepted_at", "is", null)
      .where("revoked_at", "is", null)
      .where("expires_at", ">", now)
      .executeTakeFirst(),
  );
  if (found === undefined) return null;
  const task = await inScope(db, { userId }, async (trx) => {
    await addPersonToDirectory(trx, userId, workspaceId);
    const details = { workspaceId, userId, now };
    return await addTask(trx, "accept_invitation", found.invitation_id, details, now + RESUME_AFTER_MS);
  });
  return (await finishAcceptance(db, task)) ? { workspaceId } : null;
}

/** Makes the person of a task a member of the workspace and its organisation. True if this run accepted the invitation. */
export async function finishAcceptance(db: CloudDatabase, task: Task<"accept_invitation">): Promise<boolean> {
  const { userId, now } = task.details;
  const joined = await joinWorkspace(db, task);
  const organisationId = joined?.organisationId ?? null;
  await inScope(db, organisationId === null ? {} : { organisationId }, async (trx) => {
    if (organisationId !== null) await joinOrganisation(trx, organisationId, userId, now);
    await removeTask(trx, task);
  });
  return joined?.isFirst === true;
}

/** Accepts the invitation of a task, unless an earlier run did (`isFirst`). Null if it cannot be accepted. */
async function joinWorkspace(
  db: CloudDatabase,
  { taskId: invitationId, details }: Task<"accept_invitation">,
): Promise<{ readonly organisationId: string; readonly isFirst: boolean } | null> {
  const { workspaceId, userId, now } = details;
  return await inScope(db, { workspaceId, readsThenWrites: true }, async (trx) => {
    const workspace = await trx
      .selectFrom("workspaces")
      .select("organisation_id")
      .where("workspace_id", "=", workspaceId)
      .where("deleted_at", "is", null)
      .executeTakeFirst();
    const invitation = await trx
      .selectFrom("invitations")
      .select(["role", "accepted_by", "revoked_at", "expires_at"])
      .where("workspace_id", "=", workspaceId)
      .where("invitation_id", "=", invitationId)
      .forUpdate()
      .executeTakeFirst();
    if (workspace === undefined || invitation === undefined) return null;
    const { organisation_id: organisationId } = workspace;
    if (invitation.accepted_by !== null)
      return invitation.accepted_by === userId ? { organisationId, isFirst: false } : null;
    if (invitation.revoked_at !== null || invitation.expires_at <= now) return null;
    await updateOne(
      trx
        .updateTable("invitations")
        .set({ accepted_at: now, accepted_by: userId })
        .where("workspace_id", "=", workspaceId)
        .where("invitation_id", "=", invitationId),
    );
    const { numAffectedRows } =
      await sql`insert into memberships as m (workspace_id, user_id, role, created_at)
      values (${workspaceId}::uuid, ${userId}, ${invitation.role}, ${now}::timestamptz)
      on conflict (workspace_id, user_id) do update set
        role = case when m.removed_at is null and m.role = 'admin' then 'admin' else excluded.role end,
        created_at = case when m.removed_at is null then m.created_at else excluded.created_at end,
        removed_at = null`.execute(trx);
    expectRows(numAffectedRows, 1);
    await addAuditEvent(trx, workspaceId, "member_joined", { userId, now }, { user_id: userId });
    return { organisationId, isFirst: true };
  });
}

/**
 * Deletes an invitation that ended long ago without being accepted, and erases the audit events of the workspace whose address no stored
 * invitation has. Returns when to look again if it has not ended, or not long ago; else null. An accepted one stays until its account is
 * purged, which finds by it the audit events with the person's address.
 */
export async function forgetInvitation(
  db: CloudDatabase,
  { taskId: invitationId, details: { workspaceId } }: Task<"forget_invitation">,
  now: Millis,
): Promise<Millis | null> {
  return await inScope(
    db,
    { workspaceId },
    async (trx) => {
      await sql`delete from invitations where workspace_id = ${workspaceId}::uuid and invitation_id = ${invitationId}::uuid
        and accepted_at is null and least(expires_at, revoked_at) < ${now - INVITATION_KEPT_MS}::timestamptz`.execute(
        trx,
      );
      const unused = sql`details ->> 'email' is not null and not exists (select 1 from invitations i
        where i.workspace_id = ${workspaceId}::uuid and i.email = audit_events.details ->> 'email')`;
      await blankEvents(trx, workspaceId, unused, now);
      const left = await trx
        .selectFrom("invitations")
        .select(["expires_at", "revoked_at"])
        .where("workspace_id", "=", workspaceId)
        .where("invitation_id", "=", invitationId)
        .where("accepted_at", "is", null)
        .executeTakeFirst();
      if (left === undefined) return null;
      // Later than the instant at which it may be deleted, so that it is deleted then.
      return Math.min(left.expires_at, left.revoked_at ?? left.expires_at) + INVITATION_KEPT_MS + 1;
    },
    "meter_purge",
  );
}
