import type { Context, Hono, MiddlewareHandler } from "hono";
import { compress } from "hono/compress";
import { html } from "hono/html";
import { PROBLEM_MEDIA_TYPE } from "../../core/wire/problem-details.ts";
import { FORM_STYLE } from "../../pages/client-files.data.ts";
import { CLIENT_FILES, FRAME_POLICY } from "../../pages/frame.ts";
import { isCrossOriginFetch, isOwnOrigin } from "../access/own-origin.ts";
import { problem } from "../http/problem.ts";
import type { CloudEnv, CloudParts } from "../ports.ts";
import { getAccount, postAccount } from "./account.ts";
import { getConnect, postConnect } from "./connect.ts";
import { describeProblem } from "./describe-problem.ts";
import { getHome } from "./home.ts";
import { getInvitation, postAcceptInvitation, postInvitationLink } from "./invitation.ts";
import { renderLayout } from "./layout.ts";
import { linkScriptSource } from "./link-script.ts";
import { getOrganisation, postOrganisation } from "./organisation.ts";
import { createCallApi, type PageEnv } from "./page-parts.ts";
import { getForgotPassword, getResetPassword, postForgotPassword, postResetPassword } from "./password.ts";
import { postProviderSignIn } from "./provider-sign-in.ts";
import { getAuthPage, postAuthForm, postSignOut } from "./sign-in.ts";
import { getSubscribe, postSubscribe } from "./subscribe.ts";
import { getUnsubscribe, postUnsubscribe } from "./unsubscribe.ts";
import { answerPage } from "./workspace-page.ts";
import { WORKSPACE_PAGES } from "./workspace-pages.ts";

/**
 * The policy of pages outside a workspace, such as the sign-in: our own style sheets and forms only. No scripts, frames or
 * connections; the icon is the one image. Two pages add one script.
 */
const CONTENT_SECURITY_POLICY =
  "default-src 'none'; style-src 'self'; img-src data:; form-action 'self'; frame-ancestors 'none'; base-uri 'none'";

/** A file's address names its content, so it never changes. */
const IMMUTABLE = "public, max-age=31536000, immutable";

type PageHandler = (env: PageEnv, context: Context<CloudEnv>) => Response | Promise<Response>;

/** A page: what answers `GET` and `POST`, and whether it has the script that reads the link's fragment. */
interface Page {
  readonly get?: PageHandler;
  readonly post?: PageHandler;
  readonly linkScript?: true;
  /** Whether forms of other sites are accepted: the link itself is the permission. */
  readonly fromAnySite?: true;
}

/** Every page outside the frame of a workspace, by path. */
const PAGES: Readonly<Record<string, Page>> = {
  "/": { get: getHome },
  "/sign-in": {
    get: (env, context) => getAuthPage(env, "sign-in", context),
    post: (env, context) => postAuthForm(env, "sign-in", context),
  },
  "/sign-up": {
    get: (env, context) => getAuthPage(env, "sign-up", context),
    post: (env, context) => postAuthForm(env, "sign-up", context),
  },
  "/sign-in/provider": { post: postProviderSignIn },
  "/forgot-password": { get: getForgotPassword, post: postForgotPassword },
  "/reset-password": { get: getResetPassword, post: postResetPassword, linkScript: true },
  "/invitation": { get: getInvitation, post: postInvitationLink, linkScript: true },
  "/invitation/accept": { post: postAcceptInvitation, linkScript: true },
  "/sign-out": { post: postSignOut },
  "/connect": { get: getConnect, post: postConnect },
  "/account": { get: getAccount, post: postAccount },
  "/unsubscribe": { get: getUnsubscribe, post: postUnsubscribe, fromAnySite: true },
  "/organisations/:org": { get: getOrganisation, post: postOrganisation },
  "/w/:ws/subscribe": { get: getSubscribe, post: postSubscribe },
};

/**
 * Registers the pages for people: HTML rendered on the server, and forms that post back. Pages have no rules of their own:
 * they call the JSON API's routes in this process, or the store functions behind them.
 */
export function registerPages(app: Hono<CloudEnv>, parts: CloudParts): void {
  const { baseUrl } = parts.config;
  const env: PageEnv = {
    parts,
    callApi: createCallApi((request, env) => app.fetch(request, env as object), baseUrl),
  };
  const plain = pageMiddleware(baseUrl, CONTENT_SECURITY_POLICY);
  const withLinkScript = pageMiddleware(
    baseUrl,
    `${CONTENT_SECURITY_POLICY}; script-src ${linkScriptSource(parts.sha256)}`,
  );
  const compressed = compress();
  for (const { path, type, text } of [...CLIENT_FILES, FORM_STYLE])
    app.get(path, compressed, (context) =>
      context.body(text, 200, { "content-type": type, "cache-control": IMMUTABLE }),
    );
  const open = pageMiddleware(baseUrl, CONTENT_SECURITY_POLICY, true);
  for (const [path, { get, post, linkScript, fromAnySite }] of Object.entries(PAGES)) {
    const middleware = fromAnySite === true ? open : linkScript === true ? withLinkScript : plain;
    if (get !== undefined) {
      app.get(path, middleware, (context) => get(env, context));
      if (path !== "/") app.get(`${path}/`, middleware, redirectToPage);
    }
    if (post !== undefined) app.post(path, middleware, (context) => post(env, context));
  }
  const framed = pageMiddleware(baseUrl, FRAME_POLICY);
  for (const page of WORKSPACE_PAGES.flat()) {
    const path = page.path === "/" ? "/w/:ws" : `/w/:ws${page.path}`;
    if (page.showsSecret !== true) app.use(path, compressed);
    const answer = (context: Context<CloudEnv>) => answerPage(env, context, page, WORKSPACE_PAGES);
    if (page.get !== undefined) app.get(path, framed, answer).get(`${path}/`, framed, redirectToPage);
    if (page.post !== undefined) app.post(path, framed, answer);
  }
}

/**
 * Redirects from the address of a page with a slash at its end to the page. Routes match no empty segment, so the path that is left
 * never begins with two slashes, which would name another host.
 */
function redirectToPage(context: Context<CloudEnv>): Response {
  const { pathname, search } = new URL(context.req.url);
  return context.redirect(`${pathname.replace(/\/$/, "")}${search}`, 308);
}

/**
 * The middleware of all pages: sets headers, refuses forms from other sites, and renders refusals as pages. It covers sign-in
 * too: another site must not sign its visitors in to an account of its own.
 */
function pageMiddleware(baseUrl: string, policy: string, fromAnySite = false): MiddlewareHandler<CloudEnv> {
  return async (context, next) => {
    const { method } = context.req;
    const isCrossSite =
      method === "POST" &&
      !fromAnySite &&
      (!isOwnOrigin(context.req.header("origin"), baseUrl) ||
        isCrossOriginFetch(context.req.header("sec-fetch-site")));
    if (isCrossSite) context.res = problem("origin_refused");
    else await next();
    if (context.res.headers.get("content-type") === PROBLEM_MEDIA_TYPE) {
      const refusal = context.res;
      context.res = undefined;
      context.res = await problemPage(refusal, context);
    }
    setPageHeaders(context, policy);
  };
}

function setPageHeaders(context: Context<CloudEnv>, policy: string): void {
  context.header("content-security-policy", policy);
  // Not `no-referrer`: browsers then send forms with `Origin: null` (Fetch, "append a request Origin header").
  context.header("referrer-policy", "same-origin");
  context.header("cross-origin-opener-policy", "same-origin");
  context.header("cross-origin-resource-policy", "same-origin");
}

/** Headings of refusal pages by status; other statuses use that of 500. */
const HEADINGS: Readonly<Record<number, string>> = {
  403: "Access denied",
  404: "Page not found",
  429: "Too many requests",
  500: "Something went wrong",
};

async function problemPage(refusal: Response, context: Context<CloudEnv>): Promise<Response> {
  const { status, headers } = refusal;
  const heading = HEADINGS[status] ?? HEADINGS[500] ?? "";
  const body = html`<section><h1>${heading}</h1><p>${await describeProblem(refusal)}</p><p><a href="/">Go to the start page</a></p></section>`;
  const text = await renderLayout({ title: heading, body, person: null });
  const retryAfter = headers.get("retry-after");
  return context.body(text.toString(), {
    status: status as 500,
    headers: {
      "content-type": "text/html; charset=utf-8",
      "cache-control": "no-store",
      ...(retryAfter === null ? {} : { "retry-after": retryAfter }),
    },
  });
}

/** Answers 404: as a page to a browser, else as a problem. */
export async function answerNotFound(context: Context<CloudEnv>): Promise<Response> {
  const refusal = problem("not_found");
  if (!context.req.header("accept")?.includes("text/html")) return refusal;
  setPageHeaders(context, CONTENT_SECURITY_POLICY);
  return await problemPage(refusal, context);
}
