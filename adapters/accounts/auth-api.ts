import { setTimeout as wait } from "node:timers/promises";
import type { Auth } from "better-auth";
import { isAPIError } from "better-auth/api";
import { PROBLEM_MEDIA_TYPE } from "../../core/wire/mod.ts";

/** What of better-auth's API is offered; all else is not there. */
const OFFERED: readonly RegExp[] = [
  /^POST \/sign-(?:up|in)\/email$/,
  /^POST \/sign-out$/,
  /^GET \/get-session$/,
  /^POST \/(?:change-password|revoke-sessions|request-password-reset|reset-password)$/,
  /^POST \/sign-in\/oauth2$/,
  /^GET \/oauth2\/callback\/[\w-]+$/,
];

/** Seconds until trying again may help. */
const RETRY_SECONDS = 5;

/** Somebody who has an account costs a row more than a stranger does; for so long, milliseconds, neither hears anything. */
const FORGOTTEN_LEAST_MS = 100;

/** Answers a request below `/api/auth/`; errors leave as RFC 9457 problems with better-auth's code in lower case. */
export async function answerApi(auth: Auth, request: Request, baseUrl: string): Promise<Response> {
  const { pathname, search } = new URL(request.url);
  const path = pathname.slice("/api/auth".length);
  if (!OFFERED.some((offered) => offered.test(`${request.method} ${path}`)))
    return problem(404, "not_found", "There is nothing at this address.");
  // What the address was on the way here (a proxy's, a loopback's) is not what better-auth should compare with.
  const own = new Request(new URL(pathname + search, baseUrl), request);
  // A browser that says how it fetches also says from where, and an origin. Node's fetch says the one alone, and would
  // be taken for a browser that hides its page.
  if (!own.headers.has("sec-fetch-site")) own.headers.delete("sec-fetch-mode");
  try {
    const leastMs = path === "/request-password-reset" ? FORGOTTEN_LEAST_MS : null;
    const [answer] = await Promise.all([auth.handler(own), leastMs === null ? null : wait(leastMs)]);
    return answer.status >= 400 ? await asProblem(answer) : answer;
  } catch (error) {
    if (!isAPIError(error)) throw error;
    const { code, message } = (error.body ?? {}) as { code?: string; message?: string };
    // Its word for whatever the database said: a lost race, or no connection. Nothing was made.
    if (code === "FAILED_TO_CREATE_USER") return unavailable();
    return problem(error.statusCode, code, message);
  }
}

async function asProblem(answer: Response): Promise<Response> {
  const text = await answer.text();
  let said: { code?: string; message?: string } = {};
  try {
    said = (JSON.parse(text) ?? {}) as typeof said;
  } catch {
    // No JSON: the status says it all.
  }
  if (said.code === "FAILED_TO_CREATE_USER") return unavailable();
  return problem(answer.status, said.code, said.message);
}

function unavailable(): Response {
  const answer = problem(503, "unavailable", "The cloud can't answer at the moment.");
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
  // RFC 9110, section 15.5.2: a 401 says how else it could be asked.
  if (status === 401) headers.set("www-authenticate", 'Bearer realm="meter"');
  return new Response(JSON.stringify(body), { status, headers });
}
