import type { Context, Handler, Hono, MiddlewareHandler } from "hono";
import { html } from "hono/html";
import { PROBLEM_MEDIA_TYPE } from "../../core/wire/mod.ts";
import { problem } from "../errors.ts";
import { isFromElsewhere, isOwnOrigin } from "../own-origin.ts";
import type { CloudEnv, CloudParts } from "../ports.ts";
import { getConnect, postConnect } from "./connect.ts";
import { getInvitation, postInvitationAccepted, postInvitationLink } from "./invitation.ts";
import { layout } from "./layout.ts";
import { linkScriptSource } from "./link-script.ts";
import { getHome, getOverviewPage } from "./overview.ts";
import { createAskApi, type PageEnv } from "./page-parts.ts";
import { getForgotPassword, getResetPassword, postForgotPassword, postResetPassword } from "./password.ts";
import { postProviderSignIn } from "./provider-sign-in.ts";
import { wordsOf } from "./refusal-words.ts";
import { getWayIn, postSignOut, postWayIn } from "./sign-in.ts";
import { STYLESHEET, STYLESHEET_PATH } from "./stylesheet.ts";
import { getSubscribe, postSubscribe } from "./subscribe.ts";

/** Nothing but our own stylesheet and forms: no scripts, pictures, frames or connections; two pages run one script. */
const CONTENT_SECURITY_POLICY =
  "default-src 'none'; style-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'";

/** How long a browser may keep the stylesheet, seconds. */
const STYLESHEET_SECONDS = 3_600;

/**
 * The pages for people: HTML made here, forms that post back; a script only where a link brings a secret. They hold no
 * rule of their own: whatever a page does or shows goes through the JSON API's routes in this process, or the store
 * functions behind them.
 */
export function registerPages(app: Hono<CloudEnv>, parts: CloudParts): void {
  const askApi = createAskApi((request, env) => app.fetch(request, env as object), parts.config.baseUrl);
  const env: PageEnv = { parts, askApi };
  const { baseUrl } = parts.config;
  const plain = dressPage(baseUrl, CONTENT_SECURITY_POLICY);
  const takingLinks = dressPage(
    baseUrl,
    `${CONTENT_SECURITY_POLICY}; script-src ${linkScriptSource(parts.sha256)}`,
  );
  const page = (
    path: string,
    handlers: {
      readonly get?: (context: Context<CloudEnv>) => Promise<Response>;
      readonly post?: (context: Context<CloudEnv>) => Promise<Response>;
    },
    dressed = plain,
  ) => {
    if (handlers.get !== undefined) app.get(path, dressed, handlers.get as Handler<CloudEnv>);
    if (handlers.post !== undefined) app.post(path, dressed, handlers.post as Handler<CloudEnv>);
  };

  app.get(STYLESHEET_PATH, (context) => {
    context.header("cache-control", `public, max-age=${STYLESHEET_SECONDS}`);
    return context.body(STYLESHEET, 200, { "content-type": "text/css; charset=utf-8" });
  });
  page("/", { get: (context) => getHome(env, context) });
  for (const way of ["sign-in", "sign-up"] as const) {
    page(`/${way}`, {
      get: (context) => getWayIn(env, way, context),
      post: (context) => postWayIn(env, way, context),
    });
  }
  page("/sign-in/provider", { post: (context) => postProviderSignIn(env, context) });
  page("/forgot-password", {
    get: (context) => getForgotPassword(env, context),
    post: (context) => postForgotPassword(env, context),
  });
  page(
    "/reset-password",
    {
      get: (context) => getResetPassword(env, context),
      post: (context) => postResetPassword(env, context),
    },
    takingLinks,
  );
  page(
    "/invitation",
    { get: (context) => getInvitation(env, context), post: (context) => postInvitationLink(env, context) },
    takingLinks,
  );
  page("/invitation/accept", { post: (context) => postInvitationAccepted(env, context) }, takingLinks);
  page("/sign-out", { post: (context) => postSignOut(env, context) });
  page("/connect", {
    get: (context) => getConnect(env, context),
    post: (context) => postConnect(env, context),
  });
  page("/w/:ws", { get: (context) => getOverviewPage(env, context) });
  page("/w/:ws/subscribe", {
    get: (context) => getSubscribe(env, context),
    post: (context) => postSubscribe(env, context),
  });
}

/**
 * What all pages have in common: headers, no form from another site's page, and refusals as a page. Signing in is guarded
 * too: a stranger's page must not sign its visitors in to the stranger's account.
 */
function dressPage(baseUrl: string, policy: string): MiddlewareHandler<CloudEnv> {
  return async (context, next) => {
    const { method } = context.req;
    const isForeign =
      method === "POST" &&
      (!isOwnOrigin(context.req.header("origin"), baseUrl) ||
        isFromElsewhere(context.req.header("sec-fetch-site")));
    if (isForeign) context.res = problem("origin_refused");
    else await next();
    if (context.res.headers.get("content-type") === PROBLEM_MEDIA_TYPE) {
      const refusal = context.res;
      context.res = undefined;
      context.res = await refusalPage(refusal, context);
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

/** What stands over a refusal; other statuses have the last. */
const HEADINGS: Readonly<Record<number, string>> = {
  403: "Not for you",
  404: "Nothing here",
  429: "Wait a moment",
  500: "That did not work",
};

async function refusalPage(refusal: Response, context: Context<CloudEnv>): Promise<Response> {
  const { status, headers } = refusal;
  const heading = HEADINGS[status] ?? HEADINGS[500] ?? "";
  const body = html`<section><h1>${heading}</h1><p>${await wordsOf(refusal)}</p><p><a href="/">To the start page</a></p></section>`;
  const text = await layout({ title: heading, body, person: null, shape: "card" });
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

/** 404, as a page for whoever came with a browser. */
export async function answerNotFound(context: Context<CloudEnv>): Promise<Response> {
  const refusal = problem("not_found");
  if (!context.req.header("accept")?.includes("text/html")) return refusal;
  setPageHeaders(context, CONTENT_SECURITY_POLICY);
  return await refusalPage(refusal, context);
}
