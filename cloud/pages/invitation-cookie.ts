import type { Context } from "hono";
import { deleteCookie, getCookie, setCookie } from "hono/cookie";
import type { CookieOptions } from "hono/utils/cookie";
import { hashToken, workspaceOfInvitation } from "../access/token.ts";
import type { CloudEnv, CloudParts } from "../ports.ts";
import { findInvitation, type InvitationView } from "../store/invitations.ts";

const COOKIE_NAME = "meter.invitation";

/** How long the cookie lasts, seconds. A person who takes longer to sign in or up opens the link again. */
const MAX_AGE_SECONDS = 3_600;

/** The invitation whose token is in the browser's cookie. */
export interface CookieInvitation extends InvitationView {
  readonly token: string;
}

/**
 * Stores an invitation's token in a cookie while its holder signs in or up, possibly at a provider. A cookie keeps the token
 * out of URLs and pages. Over HTTPS it is bound to this host.
 */
export function setInvitationCookie({ config }: CloudParts, context: Context<CloudEnv>, token: string): void {
  setCookie(context, COOKIE_NAME, token, {
    ...cookieOptions(config.baseUrl),
    httpOnly: true,
    maxAge: MAX_AGE_SECONDS,
  });
}

/** Deletes the cookie, if there is one. */
export function clearInvitationCookie({ config }: CloudParts, context: Context<CloudEnv>): void {
  // Visitors without the cookie need no `Set-Cookie` header.
  if (readToken(config.baseUrl, context) === undefined) return;
  deleteCookie(context, COOKIE_NAME, cookieOptions(config.baseUrl));
}

/** Returns the invitation of the cookie, or null if there is no cookie or the invitation is no longer valid. */
export async function readInvitationCookie(
  { config, db, clock, sha256 }: CloudParts,
  context: Context<CloudEnv>,
): Promise<CookieInvitation | null> {
  const token = readToken(config.baseUrl, context);
  const workspaceId = token === undefined ? null : workspaceOfInvitation(token);
  if (token === undefined || workspaceId === null) return null;
  const found = await findInvitation(db, workspaceId, hashToken(token, sha256), clock.now());
  return found === null ? null : { ...found, token };
}

function readToken(baseUrl: string, context: Context<CloudEnv>): string | undefined {
  return isHttps(baseUrl) ? getCookie(context, COOKIE_NAME, "host") : getCookie(context, COOKIE_NAME);
}

function cookieOptions(baseUrl: string): CookieOptions {
  // Lax, since a provider returns people here by a cross-site link.
  const options = { path: "/", sameSite: "Lax" } as const;
  return isHttps(baseUrl) ? { ...options, secure: true, prefix: "host" } : options;
}

const isHttps = (baseUrl: string) => baseUrl.startsWith("https:");
