import type { Context } from "hono";
import { html } from "hono/html";
import type { SignInWays } from "../../core/ports/accounts.ts";
import type { CloudEnv } from "../ports.ts";
import { broughtInvitation } from "./invitation-cookie.ts";
import { layout, type Markup } from "./layout.ts";
import { type PageEnv, readForm, sendOnward } from "./page-parts.ts";
import { safeNext } from "./safe-next.ts";

/** What became of the way over a provider, by the word that it comes back with; no other text of the address is shown. */
const REFUSALS: ReadonlyMap<string, string> = new Map([
  [
    "account_not_linked",
    "There is an account with your address: sign in with its password. Once you have set a new one by letter, the provider opens it too.",
  ],
  ["email_not_verified", "The provider has not verified your address."],
  ["email_is_missing", "The provider did not say your address."],
  ["sign_up_closed", "Accounts are by invitation here. Open the link of your invitation first."],
  ["access_denied", "The provider did not let you in, or you turned back."],
]);

/** What to say to somebody who came back from a provider without a session; null for whoever did not. */
export function providerRefusalOf(error: string | null): string | null {
  return error === null ? null : (REFUSALS.get(error) ?? "That did not work. Try again, or another way.");
}

/** A button for each provider; nothing where there is none. */
export function providerButtons(
  providers: SignInWays["providers"],
  next: string,
  isBesidePassword: boolean,
): Markup | "" {
  if (providers.length === 0) return "";
  return html`<form class="${isBesidePassword ? "ways beside" : "ways"}" method="post" action="/sign-in/provider">
<input type="hidden" name="next" value="${next}">
${providers.map(({ id, name }) => html`<button class="second" name="provider" value="${id}">Continue with ${name}</button>`)}
</form>`;
}

/** `POST /sign-in/provider`: to the provider's own page, with the invitation that was brought along. */
export async function postProviderSignIn(
  { parts, askApi }: PageEnv,
  context: Context<CloudEnv>,
): Promise<Response> {
  const form = await readForm(context);
  if (!form.ok) return form.refusal;
  const { baseUrl } = parts.config;
  const next = safeNext(form.value.get("next"), baseUrl);
  const asked = form.value.get("provider") ?? "";
  const name = parts.accounts.ways.providers.find(({ id }) => id === asked)?.name ?? asked;
  const invitation = await broughtInvitation(parts, context);
  const answer = await askApi(context, "POST", "/api/auth/sign-in/oauth2", {
    providerId: asked,
    callbackURL: baseUrl + next,
    errorCallbackURL: `${baseUrl}/sign-in?next=${encodeURIComponent(next)}`,
    ...(invitation === null ? {} : { additionalData: { invitation: invitation.token } }),
  });
  if (answer.status === 429) return answer;
  const { url } = (answer.ok ? await answer.json() : {}) as { url?: unknown };
  const onward = sendOnward(context, typeof url === "string" ? url : "", (href) => onwardPage(name, href));
  if (onward === null) return context.html(unreachablePage(name, next), 502);
  for (const cookie of answer.headers.getSetCookie()) context.header("set-cookie", cookie, { append: true });
  return await onward;
}

function onwardPage(name: string, href: string): Markup {
  const body = html`<section>
<h1>Sign in</h1>
<p>You are being sent to ${name}.</p>
<p><a href="${href}">Continue at ${name}</a></p>
</section>`;
  return layout({ title: "Sign in", body, person: null, shape: "card" });
}

function unreachablePage(name: string, next: string): Markup {
  const body = html`<section>
<h1>Sign in</h1>
<p class="notice" role="alert">${name} can’t be reached at the moment.</p>
<p><a href="/sign-in?next=${encodeURIComponent(next)}">Back to signing in</a></p>
</section>`;
  return layout({ title: "Sign in", body, person: null, shape: "card" });
}
