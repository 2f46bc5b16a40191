import type { Context } from "hono";

/**
 * Returns the token of `Authorization: Bearer` (RFC 6750, section 2.1), whatever the scheme's case (RFC 9110, section 11.1).
 * Null if the header is missing or malformed.
 */
export function bearerToken(context: Context): string | null {
  const [, token] = /^bearer +([\w.~+/%=-]{1,512})$/i.exec(context.req.header("authorization") ?? "") ?? [];
  return token ?? null;
}
