import { getOAuthState } from "better-auth/api";
import { symmetricDecrypt, symmetricEncrypt } from "better-auth/crypto";

/** Reads the email address and the invitation from the body of a sign-up request. */
export function readApplicant(body: unknown): { email: string; invitation: string | null } {
  const { email, invitation } = (body ?? {}) as Record<string, unknown>;
  return {
    email: typeof email === "string" ? email.toLowerCase() : "",
    invitation: typeof invitation === "string" ? invitation : null,
  };
}

/**
 * Encrypts the invitation for the time that a person spends at an OpenID Connect provider. It is stored in the database for
 * minutes, and a reader of the database must not be able to accept it.
 */
export async function encryptInvitation(additionalData: unknown, secret: string): Promise<object> {
  const { invitation } = readApplicant(additionalData);
  return invitation === null ? {} : { invitation: await symmetricEncrypt({ key: secret, data: invitation }) };
}

/** Returns the invitation of this sign-up, or the one that was encrypted when sign-in through a provider began. */
export async function readInvitation(body: unknown, secret: string): Promise<string | null> {
  const direct = readApplicant(body).invitation;
  if (direct !== null) return direct;
  const { invitation } = readApplicant(await getOAuthState().catch(() => null));
  // Null if it was encrypted under another secret.
  return invitation === null
    ? null
    : await symmetricDecrypt({ key: secret, data: invitation }).catch(() => null);
}
