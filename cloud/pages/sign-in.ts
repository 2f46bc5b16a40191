import type { Context } from "hono";
import { html } from "hono/html";
import type { SignInOptions } from "../../core/ports/accounts.ts";
import type { Html } from "../../pages/html.ts";
import type { CloudEnv } from "../ports.ts";
import { describeProblem, type ProblemMessages } from "./describe-problem.ts";
import { renderDone, takeDone } from "./done-messages.ts";
import { type CookieInvitation, readInvitationCookie } from "./invitation-cookie.ts";
import { field, newPasswordField, notice, renderLayout } from "./layout.ts";
import { findSignedInPerson, type PageEnv, readForm, redirectTo, renderFormError } from "./page-parts.ts";
import { describeProviderError, providerButtons } from "./provider-sign-in.ts";
import { safeNext } from "./safe-next.ts";

/** The values a form is rendered with again. A password is never sent back. */
interface FormValues {
  readonly next: string;
  readonly name: string;
  readonly email: string;
}

function readValues(fields: URLSearchParams, baseUrl: string): FormValues {
  const text = (name: string) => fields.get(name) ?? "";
  return { next: safeNext(fields.get("next"), baseUrl), name: text("name"), email: text("email") };
}

/** What differs between the sign-in and the sign-up page. */
const AUTH_ACTIONS = {
  "sign-in": { title: "Sign in", api: "/api/auth/sign-in/email" },
  "sign-up": { title: "Create an account", api: "/api/auth/sign-up/email" },
} as const;

type AuthAction = keyof typeof AUTH_ACTIONS;

/** `GET /sign-in`, `GET /sign-up`; redirects to `next` if the person is already signed in. */
export async function getAuthPage(
  env: PageEnv,
  action: AuthAction,
  context: Context<CloudEnv>,
): Promise<Response> {
  const { parts } = env;
  const { searchParams } = new URL(context.req.url);
  const values = readValues(searchParams, parts.config.baseUrl);
  if ((await findSignedInPerson(parts, context)) !== null) return redirectTo(values.next);
  const invitation = await readInvitationCookie(parts, context);
  const email = values.email === "" ? (invitation?.email ?? "") : values.email;
  return context.html(
    authPage(action, {
      signInOptions: parts.accounts.signInOptions,
      values: { ...values, email },
      invitation,
      message: describeProviderError(searchParams.get("error")),
      doneMessage: takeDone(`/${action}`, searchParams),
    }),
  );
}

/** `POST /sign-in`, `POST /sign-up`: calls the accounts API and passes its session cookie to the browser. */
export async function postAuthForm(
  env: PageEnv,
  action: AuthAction,
  context: Context<CloudEnv>,
): Promise<Response> {
  const { parts, callApi } = env;
  const form = await readForm(context);
  if (!form.ok) return form.refusal;
  const values = readValues(form.value, parts.config.baseUrl);
  const { name, email, next } = values;
  const password = form.value.get("password") ?? "";
  const invitation = await readInvitationCookie(parts, context);
  const account =
    action === "sign-in"
      ? { email, password }
      : { email, password, name, ...(invitation === null ? {} : { invitation: invitation.token }) };
  const answer = await callApi(context, "POST", AUTH_ACTIONS[action].api, account);
  if (answer.ok) return redirectTo(next, answer.headers.getSetCookie());
  const { signInOptions } = parts.accounts;
  const message = await describeProblem(answer, authProblemMessages(signInOptions, invitation));
  return renderFormError(
    context,
    answer,
    authPage(action, { signInOptions, values, invitation, message, doneMessage: null }),
  );
}

/** `POST /sign-out`: ends the session; succeeds without one too. */
export async function postSignOut(
  { parts, callApi }: PageEnv,
  context: Context<CloudEnv>,
): Promise<Response> {
  const form = await readForm(context);
  if (!form.ok) return form.refusal;
  const next = form.value.get("next");
  const answer = await callApi(context, "POST", "/api/auth/sign-out", {});
  // The session is still active: do not claim that it ended.
  if (!answer.ok && answer.status !== 401) return answer;
  const path = next === null ? "/sign-in" : safeNext(next, parts.config.baseUrl);
  return redirectTo(path, answer.headers.getSetCookie());
}

/** Returns the messages for the problems of the sign-in, sign-up and new password forms. */
export function authProblemMessages(
  { password }: SignInOptions,
  invitation: CookieInvitation | null = null,
): ProblemMessages {
  return {
    invalid_email: "Enter a valid email address.",
    invalid_email_or_password: "The email address or the password is wrong.",
    // The account was deleted.
    failed_to_create_session: "The email address or the password is wrong.",
    password_too_short: `A password must have at least ${password?.minLength} characters.`,
    password_too_long: `A password can have at most ${password?.maxLength} characters.`,
    user_already_exists_use_another_email:
      "An account with this email address already exists. Sign in instead.",
    sign_up_closed:
      invitation === null
        ? "Sign-up is by invitation only. Open your invitation link first."
        : `Sign-up is by invitation only, and your invitation is for ${invitation.email}.`,
    // Our forms send text in every field, and only the email address has a format.
    validation_error: "Enter a valid email address.",
  };
}

function authPage(
  action: AuthAction,
  facts: {
    readonly signInOptions: SignInOptions;
    readonly values: FormValues;
    readonly invitation: CookieInvitation | null;
    readonly message: string | null;
    readonly doneMessage: string | null;
  },
): Html {
  const { signInOptions, values, invitation, message, doneMessage } = facts;
  const { title } = AUTH_ACTIONS[action];
  const other = action === "sign-up" ? "sign-in" : "sign-up";
  const isOffered = signInOptions.password !== null || signInOptions.providers.length > 0;
  const noMethod = html`<p>This page has no sign-in method. Ask the operator of this server how to sign in.</p>`;
  const otherLink = html`<p class="quiet">${action === "sign-up" ? "Have an account?" : "New here?"} <a href="/${other}?next=${encodeURIComponent(values.next)}">${AUTH_ACTIONS[other].title}</a></p>`;
  const body = html`<section>
<h1>${title}</h1>
${renderDone(doneMessage)}${notice(message)}
${invitation === null ? "" : html`<p>You are invited to <strong>${invitation.workspaceName}</strong>.</p>`}
${signInOptions.password === null ? "" : passwordForm(action, values, signInOptions.password)}
${providerButtons(signInOptions.providers, values.next, signInOptions.password !== null)}
${isOffered ? otherLink : noMethod}
</section>`;
  return renderLayout({ title, body, person: null });
}

function passwordForm(
  action: AuthAction,
  values: FormValues,
  password: NonNullable<SignInOptions["password"]>,
): Html {
  const isNew = action === "sign-up";
  // Focus the first empty field.
  const first = isNew && values.name === "" ? "name" : values.email === "" ? "email" : "password";
  const forgotLink = html`<p><a href="/forgot-password">Forgot your password?</a></p>`;
  return html`<form method="post" action="/${action}">
<input type="hidden" name="next" value="${values.next}">
${isNew ? field({ name: "name", label: "Name", type: "text", autocomplete: "name", value: values.name, maxLength: 100, isFocused: first === "name" }) : ""}
${field({ name: "email", label: "Email", type: "email", autocomplete: "username", value: values.email, maxLength: 254, isFocused: first === "email" })}
${
  isNew
    ? newPasswordField("Password", password, first === "password")
    : field({
        name: "password",
        label: "Password",
        type: "password",
        autocomplete: "current-password",
        isFocused: first === "password",
      })
}
<div class="actions"><button>${AUTH_ACTIONS[action].title}</button></div>
</form>
${isNew ? "" : forgotLink}`;
}
