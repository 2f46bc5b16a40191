import type { Context } from "hono";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import type { AccountPerson } from "../../core/ports/accounts.ts";
import type { Html } from "../../pages/html.ts";
import { type OrRefusal, readBytes, SMALL_PAYLOAD_BYTES } from "../http/read-payload.ts";
import type { CloudEnv, CloudParts } from "../ports.ts";

/** Calls a route of the JSON API in this process, with the same rules, limits and log as a request from outside. */
export type CallApi = (
  context: Context<CloudEnv>,
  method: "GET" | "POST" | "PATCH" | "DELETE",
  path: string,
  body?: Readonly<Record<string, unknown>>,
) => Promise<Response>;

/** What every page handler gets. */
export interface PageEnv {
  readonly parts: CloudParts;
  readonly callApi: CallApi;
}

/** Request headers that identify the client, forwarded to the API. */
const FORWARDED_HEADERS = ["cookie", "origin", "user-agent", "x-forwarded-for"];

/** Creates the function by which pages call the API of the same app. */
export function createCallApi(
  fetch: (request: Request, env: unknown) => Response | Promise<Response>,
  baseUrl: string,
): CallApi {
  return async (context, method, path, body) => {
    const headers = new Headers();
    for (const name of FORWARDED_HEADERS) {
      const value = context.req.header(name);
      if (value !== undefined) headers.set(name, value);
    }
    if (body !== undefined) headers.set("content-type", "application/json");
    const text = body === undefined ? null : JSON.stringify(body);
    return await fetch(new Request(new URL(path, baseUrl), { method, headers, body: text }), context.env);
  };
}

/** Returns the person who is signed in, by session cookie only (pages accept no tokens); null if there is none. */
export async function findSignedInPerson(
  parts: CloudParts,
  context: Context<CloudEnv>,
): Promise<AccountPerson | null> {
  const cookie = context.req.header("cookie");
  return cookie === undefined ? null : await parts.accounts.authenticate({ kind: "cookie", cookie });
}

/** Reads the fields of a form; refuses one that is too large. */
export async function readForm(context: Context<CloudEnv>): Promise<OrRefusal<URLSearchParams>> {
  const bytes = await readBytes(context.req.raw, SMALL_PAYLOAD_BYTES);
  return bytes.ok ? { ok: true, value: new URLSearchParams(new TextDecoder().decode(bytes.value)) } : bytes;
}

/** Headers of an API refusal that the page repeats. */
const COPIED_HEADERS = ["retry-after", "www-authenticate"];

/** Repeats the headers of a refusal. */
export function copyRefusalHeaders(context: Context<CloudEnv>, refusal: Response): void {
  for (const name of COPIED_HEADERS) {
    const value = refusal.headers.get(name);
    if (value !== null) context.header(name, value);
  }
}

/** Answers with the form and its error message, under the status of the API's refusal. */
export function renderFormError(
  context: Context<CloudEnv>,
  refusal: Response,
  page: Html,
): Response | Promise<Response> {
  copyRefusalHeaders(context, refusal);
  return context.html(page, refusal.status as ContentfulStatusCode);
}

/** Redirects the browser to a path, by GET. */
export function redirectTo(path: string, cookies: readonly string[] = []): Response {
  const headers = new Headers({ location: path });
  for (const cookie of cookies) headers.append("set-cookie", cookie);
  return new Response(null, { status: 303, headers });
}

/** Redirects to the sign-in page, which returns to `next` afterwards. */
export function redirectToSignIn(next: string): Response {
  return redirectTo(`/sign-in?next=${encodeURIComponent(next)}`);
}

/**
 * Sends the browser to another site, by a page that refreshes and has a link as well. Returns null unless the address is
 * HTTP or HTTPS: it comes from a provider, and a link must not carry any other scheme.
 *
 * Decision: a page, not a redirect. Browsers check a form's redirects against `form-action` too (CSP Level 3, section
 * 6.4.1), and that allows no other site.
 */
export function redirectToSite(
  context: Context<CloudEnv>,
  address: string,
  page: (href: string) => Html,
): Response | Promise<Response> | null {
  const url = URL.parse(address);
  if (url === null || !/^https?:$/.test(url.protocol)) return null;
  context.header("refresh", `0; url=${url.href}`);
  return context.html(page(url.href));
}
