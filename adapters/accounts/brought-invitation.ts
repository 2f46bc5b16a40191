import { getOAuthState } from "better-auth/api";
import { symmetricDecrypt, symmetricEncrypt } from "better-auth/crypto";

/** Who wants in, as a request's body says it. */
export function applicantOf(body: unknown): { email: string; invitation: string | null } {
  const { email, invitation } = (body ?? {}) as Record<string, unknown>;
  return {
    email: typeof email === "string" ? email.toLowerCase() : "",
    invitation: typeof invitation === "string" ? invitation : null,
  };
}

/**
 * What is put away while somebody is at a provider: their invitation. It lies in the database for minutes, so it is
 * encrypted: who reads the database must not be able to accept it.
 */
export async function putInvitationAway(additionalData: unknown, secret: string): Promise<object> {
  const { invitation } = applicantOf(additionalData);
  return invitation === null ? {} : { invitation: await symmetricEncrypt({ key: secret, data: invitation }) };
}

/** The invitation of the sign-up itself, or the one that was put away when the way over the provider began. */
export async function broughtInvitation(body: unknown, secret: string): Promise<string | null> {
  const brought = applicantOf(body).invitation;
  if (brought !== null) return brought;
  const { invitation } = applicantOf(await getOAuthState().catch(() => null));
  // One that was put away under another secret is none.
  return invitation === null
    ? null
    : await symmetricDecrypt({ key: secret, data: invitation }).catch(() => null);
}
