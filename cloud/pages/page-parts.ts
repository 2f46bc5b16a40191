import type { Context } from "hono";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import type { AccountPerson } from "../../core/ports/accounts.ts";
import type { CloudEnv, CloudParts } from "../ports.ts";
import { type Reading, readBytes, SMALL_PAYLOAD_BYTES } from "../read-payload.ts";
import type { Markup } from "./layout.ts";

/** What a page asks of the JSON API, in this process: the same routes with the same rules, limits and log. */
export type AskApi = (
  context: Context<CloudEnv>,
  method: "GET" | "POST",
  path: string,
  body?: Readonly<Record<string, unknown>>,
) => Promise<Response>;

/** What every page gets. */
export interface PageEnv {
  readonly parts: CloudParts;
  readonly askApi: AskApi;
}

/** Headers that say who asks and from where; what a proxy of ours added counts as it does for the API. */
const PASSED_ON = ["cookie", "origin", "user-agent", "x-forwarded-for"];

/** Makes the way from the pages to the API of the same app. */
export function createAskApi(
  fetch: (request: Request, env: unknown) => Response | Promise<Response>,
  baseUrl: string,
): AskApi {
  return async (context, method, path, body) => {
    const headers = new Headers();
    for (const name of PASSED_ON) {
      const value = context.req.header(name);
      if (value !== undefined) headers.set(name, value);
    }
    if (body !== undefined) headers.set("content-type", "application/json");
    const text = body === undefined ? null : JSON.stringify(body);
    return await fetch(new Request(new URL(path, baseUrl), { method, headers, body: text }), context.env);
  };
}

/** Whose browser it is, by its cookie alone: a page is no place for tokens. Null where nobody is signed in. */
export async function personOf(parts: CloudParts, context: Context<CloudEnv>): Promise<AccountPerson | null> {
  const cookie = context.req.header("cookie");
  return cookie === undefined ? null : await parts.accounts.sessionOf({ kind: "cookie", cookie });
}

/** The fields of a form, or the refusal of one that is too large. */
export async function readForm(context: Context<CloudEnv>): Promise<Reading<URLSearchParams>> {
  const bytes = await readBytes(context.req.raw, SMALL_PAYLOAD_BYTES);
  return bytes.ok ? { ok: true, value: new URLSearchParams(new TextDecoder().decode(bytes.value)) } : bytes;
}

/** What a refusal says in its head besides its status, said again by the page that shows it. */
const SAID_AGAIN = ["retry-after", "www-authenticate"];

/** A form again, with what is wrong with it, under the status of the API's refusal. */
export function refuseForm(
  context: Context<CloudEnv>,
  refusal: Response,
  page: Markup,
): Response | Promise<Response> {
  for (const name of SAID_AGAIN) {
    const value = refusal.headers.get(name);
    if (value !== null) context.header(name, value);
  }
  return context.html(page, refusal.status as ContentfulStatusCode);
}

/** Sends the browser on, by GET. */
export function goTo(path: string, cookies: readonly string[] = []): Response {
  const headers = new Headers({ location: path });
  for (const cookie of cookies) headers.append("set-cookie", cookie);
  return new Response(null, { status: 303, headers });
}

/** Sends somebody to sign in first, and then back to a page. */
export function goToSignIn(next: string): Response {
  return goTo(`/sign-in?next=${encodeURIComponent(next)}`);
}

/**
 * Sends the browser on to a page of another site, with a link for browsers that stay. Null for an address that is none of a
 * web page: it comes from a provider, and nothing but such may stand in a link.
 *
 * Decision: by a page, not by a redirect: browsers hold the redirects of a form against `form-action` too (CSP Level 3,
 * section 6.4.1), and that stays closed to other sites.
 */
export function sendOnward(
  context: Context<CloudEnv>,
  address: string,
  page: (href: string) => Markup,
): Response | Promise<Response> | null {
  const url = URL.parse(address);
  if (url === null || !/^https?:$/.test(url.protocol)) return null;
  context.header("refresh", `0; url=${url.href}`);
  return context.html(page(url.href));
}
