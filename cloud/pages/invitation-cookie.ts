import type { Context } from "hono";
import { deleteCookie, getCookie, setCookie } from "hono/cookie";
import type { CookieOptions } from "hono/utils/cookie";
import type { CloudEnv, CloudParts } from "../ports.ts";
import { findInvitation, type ShownInvitation } from "../store/invitations.ts";
import { hashToken, workspaceOfInvitation } from "../sync-token.ts";

const NAME = "meter.invitation";

/** How long somebody may take to sign in or up before they need their link again, seconds. */
const KEPT_SECONDS = 3_600;

/** An invitation that a browser brought along. */
export interface BroughtInvitation extends ShownInvitation {
  readonly token: string;
}

/**
 * Keeps an invitation's token while its bearer signs in or up, perhaps by way of a provider. A cookie, so that it stands in
 * no address and no page; bound to this host where there is https.
 */
export function keepInvitation({ config }: CloudParts, context: Context<CloudEnv>, token: string): void {
  setCookie(context, NAME, token, { ...optionsFor(config.baseUrl), httpOnly: true, maxAge: KEPT_SECONDS });
}

/** Forgets it, also where there is none. */
export function forgetInvitation({ config }: CloudParts, context: Context<CloudEnv>): void {
  // Not on each page that somebody without an invitation visits.
  if (tokenOf(config.baseUrl, context) === undefined) return;
  deleteCookie(context, NAME, optionsFor(config.baseUrl));
}

/** The invitation that was brought along; null where there is none, or it is not good any more. */
export async function broughtInvitation(
  { config, db, clock, sha256 }: CloudParts,
  context: Context<CloudEnv>,
): Promise<BroughtInvitation | null> {
  const token = tokenOf(config.baseUrl, context);
  const workspaceId = token === undefined ? null : workspaceOfInvitation(token);
  if (token === undefined || workspaceId === null) return null;
  const found = await findInvitation(db, workspaceId, hashToken(token, sha256), clock.now());
  return found === null ? null : { ...found, token };
}

function tokenOf(baseUrl: string, context: Context<CloudEnv>): string | undefined {
  return isHttps(baseUrl) ? getCookie(context, NAME, "host") : getCookie(context, NAME);
}

function optionsFor(baseUrl: string): CookieOptions {
  // Lax, since a provider sends people back here by a link of its own.
  const options = { path: "/", sameSite: "Lax" } as const;
  return isHttps(baseUrl) ? { ...options, secure: true, prefix: "host" } : options;
}

const isHttps = (baseUrl: string) => baseUrl.startsWith("https:");
