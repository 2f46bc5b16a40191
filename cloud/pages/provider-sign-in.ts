import type { Context } from "hono";
import { html } from "hono/html";
import type { SignInOptions } from "../../core/ports/accounts.ts";
import type { Html } from "../../pages/html.ts";
import type { CloudEnv } from "../ports.ts";
import { readInvitationCookie } from "./invitation-cookie.ts";
import { renderLayout } from "./layout.ts";
import { type PageEnv, readForm, redirectToSite } from "./page-parts.ts";
import { safeNext } from "./safe-next.ts";

/** Messages by the `error` code in the URL after a provider sign-in. No text from the URL itself is ever shown. */
const PROVIDER_ERRORS: ReadonlyMap<string, string> = new Map([
  [
    "account_not_linked",
    "An account with your email address already exists. Sign in with its password. To sign in with the provider as well, first set a new password by email.",
  ],
  ["email_not_verified", "The provider has not verified your email address."],
  ["email_is_missing", "The provider did not share your email address."],
  ["sign_up_closed", "Sign-up is by invitation only. Open your invitation link first."],
  ["access_denied", "The provider denied access, or you cancelled."],
]);

/** Returns the message for a failed provider sign-in; null without an error. */
export function describeProviderError(error: string | null): string | null {
  return error === null
    ? null
    : (PROVIDER_ERRORS.get(error) ?? "Sign-in failed. Try again, or sign in another way.");
}

/** Renders a button for each provider; empty if there are none. */
export function providerButtons(
  providers: SignInOptions["providers"],
  next: string,
  isBelowPasswordForm: boolean,
): Html | "" {
  if (providers.length === 0) return "";
  return html`<form class="${isBelowPasswordForm ? "providers beside" : "providers"}" method="post" action="/sign-in/provider">
<input type="hidden" name="next" value="${next}">
${providers.map(({ id, name }) => html`<button class="second" name="provider" value="${id}">Continue with ${name}</button>`)}
</form>`;
}

/** `POST /sign-in/provider`: sends the browser to the provider's page, along with the invitation of the cookie. */
export async function postProviderSignIn(
  { parts, callApi }: PageEnv,
  context: Context<CloudEnv>,
): Promise<Response> {
  const form = await readForm(context);
  if (!form.ok) return form.refusal;
  const { baseUrl } = parts.config;
  const next = safeNext(form.value.get("next"), baseUrl);
  const providerId = form.value.get("provider") ?? "";
  const name = parts.accounts.signInOptions.providers.find(({ id }) => id === providerId)?.name ?? providerId;
  const invitation = await readInvitationCookie(parts, context);
  const answer = await callApi(context, "POST", "/api/auth/sign-in/oauth2", {
    providerId,
    callbackURL: baseUrl + next,
    errorCallbackURL: `${baseUrl}/sign-in?next=${encodeURIComponent(next)}`,
    ...(invitation === null ? {} : { additionalData: { invitation: invitation.token } }),
  });
  if (answer.status === 429) return answer;
  const { url } = (answer.ok ? await answer.json() : {}) as { url?: unknown };
  const onward = redirectToSite(context, typeof url === "string" ? url : "", (href) =>
    redirectPage(name, href),
  );
  if (onward === null) return context.html(unreachablePage(name, next), 502);
  for (const cookie of answer.headers.getSetCookie()) context.header("set-cookie", cookie, { append: true });
  return await onward;
}

function redirectPage(name: string, href: string): Html {
  const body = html`<section>
<h1>Sign in</h1>
<p>Redirecting to ${name}.</p>
<p><a href="${href}">Continue to ${name}</a></p>
</section>`;
  return renderLayout({ title: "Sign in", body, person: null });
}

function unreachablePage(name: string, next: string): Html {
  const body = html`<section>
<h1>Sign in</h1>
<p class="notice" role="alert">${name} cannot be reached. Try again later.</p>
<p><a href="/sign-in?next=${encodeURIComponent(next)}">Back to sign-in</a></p>
</section>`;
  return renderLayout({ title: "Sign in", body, person: null });
}
