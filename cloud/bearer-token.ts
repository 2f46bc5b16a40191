import type { Context } from "hono";

/**
 * The token of `Authorization: Bearer` (RFC 6750, section 2.1); the scheme's case does not matter (RFC 9110, section 11.1).
 * Null without the header, or where it is anything else.
 */
export function bearerToken(context: Context): string | null {
  const [, token] = /^bearer +([\w.~+/%=-]{1,512})$/i.exec(context.req.header("authorization") ?? "") ?? [];
  return token ?? null;
}
