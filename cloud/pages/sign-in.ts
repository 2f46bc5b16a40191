import type { Context } from "hono";
import { html } from "hono/html";
import type { SignInWays } from "../../core/ports/accounts.ts";
import type { CloudEnv } from "../ports.ts";
import { type BroughtInvitation, broughtInvitation } from "./invitation-cookie.ts";
import { done, field, layout, type Markup, newPasswordField, notice } from "./layout.ts";
import { goTo, type PageEnv, personOf, readForm, refuseForm } from "./page-parts.ts";
import { providerButtons, providerRefusalOf } from "./provider-sign-in.ts";
import { type RefusalWords, wordsOf } from "./refusal-words.ts";
import { safeNext } from "./safe-next.ts";

/** What a form of these two pages was opened or sent with; a password is never sent back. */
interface Typed {
  readonly next: string;
  readonly name: string;
  readonly email: string;
}

function typedIn(fields: URLSearchParams, baseUrl: string): Typed {
  const text = (name: string) => fields.get(name) ?? "";
  return { next: safeNext(fields.get("next"), baseUrl), name: text("name"), email: text("email") };
}

/** The two ways in: what differs between them. */
const WAYS = {
  "sign-in": { title: "Sign in", api: "/api/auth/sign-in/email" },
  "sign-up": { title: "Create an account", api: "/api/auth/sign-up/email" },
} as const;

type Way = keyof typeof WAYS;

/** Said once on the sign-in page, by the word that another page sent along: no text of an address is ever shown. */
const DONE: ReadonlyMap<string, string> = new Map([
  [
    "password-set",
    "Your new password is set. Sign in with it; wherever you were signed in, you no longer are.",
  ],
]);

/** `GET /sign-in`, `GET /sign-up`; somebody who is signed in goes straight on. */
export async function getWayIn(env: PageEnv, way: Way, context: Context<CloudEnv>): Promise<Response> {
  const { parts } = env;
  const { searchParams } = new URL(context.req.url);
  const typed = typedIn(searchParams, parts.config.baseUrl);
  if ((await personOf(parts, context)) !== null) return goTo(typed.next);
  const invitation = await broughtInvitation(parts, context);
  const email = typed.email === "" ? (invitation?.email ?? "") : typed.email;
  return context.html(
    wayInPage(way, {
      ways: parts.accounts.ways,
      typed: { ...typed, email },
      invitation,
      message: providerRefusalOf(searchParams.get("error")),
      said: DONE.get(searchParams.get("done") ?? "") ?? null,
    }),
  );
}

/** `POST /sign-in`, `POST /sign-up`: through the accounts' API, whose cookie goes to the browser. */
export async function postWayIn(env: PageEnv, way: Way, context: Context<CloudEnv>): Promise<Response> {
  const { parts, askApi } = env;
  const form = await readForm(context);
  if (!form.ok) return form.refusal;
  const typed = typedIn(form.value, parts.config.baseUrl);
  const { name, email, next } = typed;
  const password = form.value.get("password") ?? "";
  const invitation = await broughtInvitation(parts, context);
  const account =
    way === "sign-in"
      ? { email, password }
      : { email, password, name, ...(invitation === null ? {} : { invitation: invitation.token }) };
  const answer = await askApi(context, "POST", WAYS[way].api, account);
  if (answer.ok) return goTo(next, answer.headers.getSetCookie());
  const { ways } = parts.accounts;
  const message = await wordsOf(answer, refusalWords(ways, invitation));
  return refuseForm(context, answer, wayInPage(way, { ways, typed, invitation, message, said: null }));
}

/** `POST /sign-out`: ends the session, also where there is none any more. */
export async function postSignOut({ parts, askApi }: PageEnv, context: Context<CloudEnv>): Promise<Response> {
  const form = await readForm(context);
  if (!form.ok) return form.refusal;
  const next = form.value.get("next");
  const answer = await askApi(context, "POST", "/api/auth/sign-out", {});
  // Not "signed out" while the session lives on.
  if (!answer.ok && answer.status !== 401) return answer;
  const path = next === null ? "/sign-in" : safeNext(next, parts.config.baseUrl);
  return goTo(path, answer.headers.getSetCookie());
}

/** What is wrong with a form of these pages or of a new password, in words for the person who filled it in. */
export function refusalWords(
  { password }: SignInWays,
  invitation: BroughtInvitation | null = null,
): RefusalWords {
  return {
    invalid_email: "This is no address for mail.",
    invalid_email_or_password: "The address or the password is wrong.",
    // The account was closed.
    failed_to_create_session: "The address or the password is wrong.",
    password_too_short: `A password has ${password?.minLength} characters or more.`,
    password_too_long: `A password has ${password?.maxLength} characters at most.`,
    user_already_exists_use_another_email: "There is an account with this address: sign in instead.",
    sign_up_closed:
      invitation === null
        ? "Accounts are by invitation here. Open the link of your invitation first."
        : `Accounts are by invitation here, and this one is for ${invitation.email}.`,
    // Our forms send text for every field, and of those the address alone has a form of its own.
    validation_error: "This is no address for mail.",
  };
}

function wayInPage(
  way: Way,
  facts: {
    readonly ways: SignInWays;
    readonly typed: Typed;
    readonly invitation: BroughtInvitation | null;
    readonly message: string | null;
    readonly said: string | null;
  },
): Markup {
  const { ways, typed, invitation, message, said } = facts;
  const { title } = WAYS[way];
  const other = way === "sign-up" ? "sign-in" : "sign-up";
  const isOffered = ways.password !== null || ways.providers.length > 0;
  const none = html`<p>There is no way to sign in on this page: people of this server come in elsewhere.</p>`;
  const elsewhere = html`<p class="quiet">${way === "sign-up" ? "Have an account?" : "New here?"} <a href="/${other}?next=${encodeURIComponent(typed.next)}">${WAYS[other].title}</a></p>`;
  const body = html`<section>
<h1>${title}</h1>
${done(said)}${notice(message)}
${invitation === null ? "" : html`<p>You are invited to <strong>${invitation.workspaceName}</strong>.</p>`}
${ways.password === null ? "" : passwordForm(way, typed, ways.password)}
${providerButtons(ways.providers, typed.next, ways.password !== null)}
${isOffered ? elsewhere : none}
</section>`;
  return layout({ title, body, person: null, shape: "card" });
}

function passwordForm(way: Way, typed: Typed, password: NonNullable<SignInWays["password"]>): Markup {
  const isNew = way === "sign-up";
  // Whoever comes back to a form begins at the first field that is empty.
  const first = isNew && typed.name === "" ? "name" : typed.email === "" ? "email" : "password";
  const forgotten = html`<p><a href="/forgot-password">Forgot your password?</a></p>`;
  return html`<form method="post" action="/${way}">
<input type="hidden" name="next" value="${typed.next}">
${isNew ? field({ name: "name", label: "Name", type: "text", autocomplete: "name", value: typed.name, maxLength: 100, isFirst: first === "name" }) : ""}
${field({ name: "email", label: "E-mail", type: "email", autocomplete: "username", value: typed.email, maxLength: 254, isFirst: first === "email" })}
${
  isNew
    ? newPasswordField("Password", password, first === "password")
    : field({
        name: "password",
        label: "Password",
        type: "password",
        autocomplete: "current-password",
        isFirst: first === "password",
      })
}
<div class="actions"><button>${WAYS[way].title}</button></div>
</form>
${isNew ? "" : forgotten}`;
}
