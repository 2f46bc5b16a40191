import type { Context } from "hono";

/** HTTP statuses of problems. */
type ProblemStatus = 400 | 401 | 403 | 404 | 409 | 413 | 415 | 422 | 500 | 502 | 503;

/** Creates an RFC 9457 problem response with a stable `code`. */
export function problem(
  context: Context,
  status: ProblemStatus,
  code: string,
  detail: string,
  headers: Readonly<Record<string, string>> = {},
): Response {
  return context.body(JSON.stringify({ type: "about:blank", status, code, detail }), status, {
    "content-type": "application/problem+json",
    // RFC 9110, section 15.5.2: a 401 response must name an authentication scheme.
    ...(status === 401 && { "www-authenticate": "Bearer" }),
    ...headers,
  });
}
