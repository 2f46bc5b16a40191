import type { Context } from "hono";
import { html } from "hono/html";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import type { CloudEnv } from "../ports.ts";
import { field, layout, type Markup, notice } from "./layout.ts";
import { goTo, type PageEnv, personOf, readForm, titleOf } from "./page-parts.ts";
import { safeNext } from "./safe-next.ts";

/** What a form of these two pages was opened or sent with; a password is never sent back. */
interface Typed {
  readonly next: string;
  readonly name: string;
  readonly email: string;
  readonly invitation: string;
}

function typedIn(fields: URLSearchParams, baseUrl: string): Typed {
  const text = (name: string) => fields.get(name) ?? "";
  return {
    next: safeNext(fields.get("next"), baseUrl),
    name: text("name"),
    email: text("email"),
    invitation: text("invitation"),
  };
}

/** The two ways in: what differs between them. */
const WAYS = {
  "sign-in": { title: "Sign in", api: "/api/auth/sign-in/email" },
  "sign-up": { title: "Create an account", api: "/api/auth/sign-up/email" },
} as const;

/** `GET /sign-in`, `GET /sign-up`; somebody who is signed in goes straight on. */
export async function getWayIn(
  { parts }: PageEnv,
  way: keyof typeof WAYS,
  context: Context<CloudEnv>,
): Promise<Response> {
  const typed = typedIn(new URL(context.req.url).searchParams, parts.config.baseUrl);
  if ((await personOf(parts, context)) !== null) return goTo(typed.next);
  return context.html(wayInPage(way, typed, null));
}

/** `POST /sign-in`, `POST /sign-up`: through the accounts' API, whose cookie goes to the browser. */
export async function postWayIn(
  { parts, askApi }: PageEnv,
  way: keyof typeof WAYS,
  context: Context<CloudEnv>,
): Promise<Response> {
  const form = await readForm(context);
  if (!form.ok) return form.refusal;
  const typed = typedIn(form.value, parts.config.baseUrl);
  const { name, email, invitation, next } = typed;
  const password = form.value.get("password") ?? "";
  const account =
    way === "sign-in"
      ? { email, password }
      : { email, password, name, ...(invitation === "" ? {} : { invitation }) };
  const answer = await askApi(context, "POST", WAYS[way].api, account);
  if (answer.ok) return goTo(next, answer.headers.getSetCookie());
  const retryAfter = answer.headers.get("retry-after");
  if (retryAfter !== null) context.header("retry-after", retryAfter);
  return context.html(wayInPage(way, typed, await titleOf(answer)), answer.status as ContentfulStatusCode);
}

/** `POST /sign-out`: ends the session, also where there is none any more. */
export async function postSignOut({ askApi }: PageEnv, context: Context<CloudEnv>): Promise<Response> {
  const answer = await askApi(context, "POST", "/api/auth/sign-out", {});
  // Not "signed out" while the session lives on.
  if (!answer.ok && answer.status !== 401) return answer;
  return goTo("/sign-in", answer.headers.getSetCookie());
}

function wayInPage(way: keyof typeof WAYS, typed: Typed, message: string | null): Markup {
  const { title } = WAYS[way];
  const isNew = way === "sign-up";
  const other = isNew ? "sign-in" : "sign-up";
  const body = html`<section>
<h1>${title}</h1>
${notice(message)}
<form method="post" action="/${way}">
<input type="hidden" name="next" value="${typed.next}">
${typed.invitation === "" ? "" : html`<input type="hidden" name="invitation" value="${typed.invitation}">`}
${isNew ? field({ name: "name", label: "Name", type: "text", autocomplete: "name", value: typed.name, isFirst: true }) : ""}
${field({ name: "email", label: "E-mail", type: "email", autocomplete: "username", value: typed.email, isFirst: !isNew })}
${field({
  name: "password",
  label: "Password",
  type: "password",
  autocomplete: isNew ? "new-password" : "current-password",
  ...(isNew ? { hint: "Length is what counts: several words make a good one." } : {}),
})}
<div class="actions"><button>${title}</button></div>
</form>
<p class="quiet">${isNew ? "Have an account?" : "New here?"} <a href="/${other}?next=${encodeURIComponent(typed.next)}">${WAYS[other].title}</a></p>
</section>`;
  return layout({ title, body, person: null, shape: "card" });
}
