import { setTimeout as wait } from "node:timers/promises";
import type { Auth } from "better-auth";
import { isAPIError } from "better-auth/api";
import { PROBLEM_MEDIA_TYPE } from "../../core/wire/problem-details.ts";

/** The paths of better-auth's API that are available. All others answer 404. */
const AVAILABLE: readonly RegExp[] = [
  /^POST \/sign-(?:up|in)\/email$/,
  /^POST \/sign-out$/,
  /^GET \/get-session$/,
  /^POST \/(?:change-password|revoke-sessions|request-password-reset|reset-password)$/,
  /^POST \/sign-in\/oauth2$/,
  /^GET \/oauth2\/callback\/[\w-]+$/,
];

/** `Retry-After` while the database is unavailable, seconds. */
const RETRY_SECONDS = 5;

/**
 * How long a request for a password reset takes at least, milliseconds. An account's reset writes a row, and the time must
 * not reveal whether there is one.
 */
const RESET_REQUEST_MIN_MS = 100;

/** Answers a request below `/api/auth/`. Errors are RFC 9457 problems whose code is better-auth's in lower case. */
export async function answerApi(auth: Auth, request: Request, baseUrl: string): Promise<Response> {
  const { pathname, search } = new URL(request.url);
  const path = pathname.slice("/api/auth".length);
  if (!AVAILABLE.some((available) => available.test(`${request.method} ${path}`)))
    return problem(404, "not_found", "Nothing was found at this address.");
  // The public address: better-auth must not compare with the one that a proxy or a loopback call used.
  const own = new Request(new URL(pathname + search, baseUrl), request);
  // Browsers send `Sec-Fetch-Mode` together with `Sec-Fetch-Site` and an origin. Node's fetch sends it alone, and would be
  // treated as a browser that hides its page.
  if (!own.headers.has("sec-fetch-site")) own.headers.delete("sec-fetch-mode");
  try {
    const minMs = path === "/request-password-reset" ? RESET_REQUEST_MIN_MS : null;
    const [answer] = await Promise.all([auth.handler(own), minMs === null ? null : wait(minMs)]);
    return answer.status >= 400 ? await asProblem(answer) : answer;
  } catch (error) {
    if (!isAPIError(error)) throw error;
    const { code, message } = (error.body ?? {}) as { code?: string; message?: string };
    // better-auth's code for any database error: a lost race, or no connection. No account was created.
    if (code === "FAILED_TO_CREATE_USER") return unavailable();
    return problem(error.statusCode, code, message);
  }
}

async function asProblem(answer: Response): Promise<Response> {
  const text = await answer.text();
  let body: { code?: string; message?: string } = {};
  try {
    body = (JSON.parse(text) ?? {}) as typeof body;
  } catch {
    // No JSON: the status is enough.
  }
  if (body.code === "FAILED_TO_CREATE_USER") return unavailable();
  return problem(answer.status, body.code, body.message);
}

function unavailable(): Response {
  const answer = problem(503, "unavailable", "The cloud is temporarily unavailable.");
  answer.headers.set("retry-after", String(RETRY_SECONDS));
  return answer;
}

function problem(status: number, code: string | undefined, title: string | undefined): Response {
  const body = {
    type: "about:blank",
    title: title ?? "The request was refused.",
    status,
    code: (code ?? (status === 401 ? "unauthorised" : "refused")).toLowerCase(),
  };
  const headers = new Headers({ "content-type": PROBLEM_MEDIA_TYPE, "cache-control": "no-store" });
  // RFC 9110, section 15.5.2: a 401 names an authentication scheme.
  if (status === 401) headers.set("www-authenticate", 'Bearer realm="meter"');
  return new Response(JSON.stringify(body), { status, headers });
}
