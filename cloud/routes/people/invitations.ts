import { isUuid } from "../../../core/values/uuid.ts";
import { formatInstant } from "../../../core/wire/instant.ts";
import { hashToken, mintToken, workspaceOfInvitation } from "../../access/token.ts";
import { problem } from "../../http/problem.ts";
import { newId } from "../../new-id.ts";
import type { CloudParts } from "../../ports.ts";
import {
  acceptInvitation,
  addInvitation,
  type Invitation,
  listInvitations,
  renewInvitation,
  revokeInvitation,
} from "../../store/invitations.ts";
import { findWorkspaceAccess } from "../../store/workspaces.ts";
import type { ApiHandlers } from "../api-call.ts";
import { toWorkspaceSummary } from "./summaries.ts";

/** The routes of invitations to a workspace. */
export const invitationHandlers = {
  "GET /v1/workspaces/:ws/invitations": async ({ parts, workspace, answer }) => {
    const pending = await listInvitations(parts.db, workspace.workspaceId, parts.clock.now());
    return answer(200, { items: pending.map(toWire) });
  },

  /** Invites a new person, or one who was removed. The answer is the same whether or not the address has an account. */
  "POST /v1/workspaces/:ws/invitations": async ({ parts, actor, workspace, body, answer }) => {
    const { workspaceId, name } = workspace;
    const refusal = await limitEmails(parts, workspaceId, body.email);
    if (refusal !== null) return refusal;
    const { token, hash } = mintToken("invite", workspaceId, parts.randomBytes, parts.sha256);
    const invitation = await addInvitation(
      parts.db,
      workspaceId,
      { invitationId: newId(parts), email: body.email, role: body.role, tokenHash: hash },
      { userId: actor.userId, now: parts.clock.now() },
    );
    if (invitation === null) return problem("too_many_invitations");
    return answer(201, await sendInvitation(parts, invitation, name, token));
  },

  /** Sends a new link, since the token of the earlier one is stored only as a hash. */
  "POST /v1/workspaces/:ws/invitations/:id/resend": async ({ parts, actor, workspace, params, answer }) => {
    const { workspaceId, name } = workspace;
    const change = { userId: actor.userId, now: parts.clock.now() };
    const pending = await listInvitations(parts.db, workspaceId, change.now);
    const found = pending.find(({ invitationId }) => invitationId === params.id.toLowerCase());
    if (found === undefined) return problem("not_found");
    const refusal = await limitEmails(parts, workspaceId, found.email);
    if (refusal !== null) return refusal;
    const { token, hash } = mintToken("invite", workspaceId, parts.randomBytes, parts.sha256);
    const invitation = await renewInvitation(parts.db, workspaceId, found.invitationId, hash, change);
    if (invitation === null) return problem("not_found");
    return answer(200, await sendInvitation(parts, invitation, name, token));
  },

  "DELETE /v1/workspaces/:ws/invitations/:id": async ({ parts, actor, workspace, params, answer }) => {
    const change = { userId: actor.userId, now: parts.clock.now() };
    const found =
      isUuid(params.id) && (await revokeInvitation(parts.db, workspace.workspaceId, params.id, change));
    return found ? answer(204) : problem("not_found");
  },

  "POST /v1/invitations/accept": async ({ parts, actor, body: { token }, answer }) => {
    const workspaceId = workspaceOfInvitation(token);
    if (workspaceId === null) return problem("invitation_unknown");
    const hash = hashToken(token, parts.sha256);
    const joined = await acceptInvitation(parts.db, workspaceId, hash, actor, parts.clock.now());
    const workspace = joined && (await findWorkspaceAccess(parts.db, actor.userId, workspaceId));
    return workspace === null ? problem("invitation_unknown") : answer(200, toWorkspaceSummary(workspace));
  },
} satisfies Partial<ApiHandlers>;

/** Counts an email to an address of a workspace; a refusal if it got too many. */
async function limitEmails(parts: CloudParts, workspaceId: string, email: string): Promise<Response | null> {
  const retryAfterSeconds = await parts.limits.invitationEmails.take(
    `${workspaceId} ${email}`,
    parts.clock.now(),
  );
  return retryAfterSeconds === null ? null : problem("too_many_emails", { retryAfterSeconds });
}

/** Emails the link and returns the answer with it. If the email fails, the invitation stays valid: the admin has the link too. */
async function sendInvitation(
  parts: CloudParts,
  invitation: Invitation,
  workspaceName: string,
  token: string,
) {
  // The token comes after the `#`, so that it appears in no server log and no Referer.
  const link = `${parts.config.baseUrl}/invitation#${token}`;
  const mailed = await mailInvitation(parts, invitation.email, oneLine(workspaceName), link);
  return { ...toWire(invitation), link, mailed };
}

async function mailInvitation(
  parts: CloudParts,
  to: string,
  workspace: string,
  link: string,
): Promise<boolean> {
  const text = `You are invited to the workspace "${workspace}". To accept, open this link within 7 days:\n${link}\nThe link works only for your email address.\n`;
  try {
    await parts.mail({ to, subject: `Invitation to ${workspace}`, text });
    return true;
  } catch {
    return false;
  }
}

/** Replaces line breaks, which an email's subject must not contain. */
function oneLine(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, " ");
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
