import type { Context } from "hono";
import {
  formatInstant,
  type InvitationCreated,
  type Invitations,
  invitationAcceptSchema,
  newInvitationSchema,
} from "../../../core/wire/mod.ts";
import { problem } from "../../errors.ts";
import { newId } from "../../new-id.ts";
import type { CloudEnv, CloudParts } from "../../ports.ts";
import { readSmallPayload } from "../../read-payload.ts";
import {
  acceptInvitation,
  addInvitation,
  type Invitation,
  listInvitations,
  revokeInvitation,
} from "../../store/invitations.ts";
import { findWorkspaceAccess } from "../../store/workspaces.ts";
import { hashToken, mintToken, workspaceOfInvitation } from "../../sync-token.ts";
import { isUuid } from "../../uuid.ts";
import { toWorkspaceSummary } from "./summaries.ts";

/**
 * `POST /v1/workspaces/{ws}/invitations`, by an admin: somebody new, or somebody who was removed. The answer is the same
 * whether or not the address has an account.
 */
export async function postInvitation(parts: CloudParts, context: Context<CloudEnv>): Promise<Response> {
  const read = await readSmallPayload(context.req.raw, newInvitationSchema);
  if (!read.ok) return read.refusal;
  const { workspaceId, name } = context.get("workspace");
  const { userId } = context.get("actor");
  const { token, hash } = mintToken("invite", workspaceId, parts.randomBytes, parts.sha256);
  const invitation = await addInvitation(
    parts.db,
    workspaceId,
    { invitationId: newId(parts), email: read.value.email, role: read.value.role, tokenHash: hash },
    { userId, now: parts.clock.now() },
  );
  if (invitation === null) return problem("too_many_invitations");
  // After the `#`: no server's log, no Referer ever has it.
  const link = `${parts.config.baseUrl}/invitation#${token}`;
  const answer: InvitationCreated = {
    ...toWire(invitation),
    link,
    mailed: await send(parts, invitation.email, oneLine(name), link),
  };
  return context.json(answer, 201);
}

/** A letter that could not be sent takes nothing back: the inviter has the link. */
async function send(parts: CloudParts, to: string, workspace: string, link: string): Promise<boolean> {
  const text = `You are invited to the workspace "${workspace}". The link is for you alone, and good for a week:\n${link}\n`;
  try {
    await parts.mail({ to, subject: `Invitation to ${workspace}`, text });
    return true;
  } catch {
    return false;
  }
}

/** A name may hold line breaks, which a letter's subject must not. */
function oneLine(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, " ");
}

/** `GET /v1/workspaces/{ws}/invitations`, by an admin. */
export async function getInvitations(parts: CloudParts, context: Context<CloudEnv>): Promise<Response> {
  const { workspaceId } = context.get("workspace");
  const waiting = await listInvitations(parts.db, workspaceId, parts.clock.now());
  const answer: Invitations = { items: waiting.map(toWire) };
  return context.json(answer);
}

/** `DELETE /v1/workspaces/{ws}/invitations/{id}`, by an admin. */
export async function deleteInvitation(parts: CloudParts, context: Context<CloudEnv>): Promise<Response> {
  const id = context.req.param("id") ?? "";
  const change = { userId: context.get("actor").userId, now: parts.clock.now() };
  const found =
    isUuid(id) && (await revokeInvitation(parts.db, context.get("workspace").workspaceId, id, change));
  return found ? context.body(null, 204) : problem("not_found");
}

/** `POST /v1/invitations/accept`, by the person of the address that was invited. */
export async function postInvitationAccept(parts: CloudParts, context: Context<CloudEnv>): Promise<Response> {
  const read = await readSmallPayload(context.req.raw, invitationAcceptSchema);
  if (!read.ok) return read.refusal;
  const { token } = read.value;
  const actor = context.get("actor");
  const workspaceId = workspaceOfInvitation(token);
  if (workspaceId === null) return problem("invitation_unknown");
  const hash = hashToken(token, parts.sha256);
  const joined = await acceptInvitation(parts.db, workspaceId, hash, actor, parts.clock.now());
  const workspace = joined && (await findWorkspaceAccess(parts.db, actor.userId, workspaceId));
  return workspace === null ? problem("invitation_unknown") : context.json(toWorkspaceSummary(workspace));
}

function toWire({ invitationId, email, role, createdAt, expiresAt }: Invitation) {
  return {
    id: invitationId,
    email,
    role,
    created_at: formatInstant(createdAt),
    expires_at: formatInstant(expiresAt),
  };
}
