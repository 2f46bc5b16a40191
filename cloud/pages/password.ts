import type { Context } from "hono";
import { html } from "hono/html";
import type { SignInOptions } from "../../core/ports/accounts.ts";
import type { Html } from "../../pages/html.ts";
import { problem } from "../http/problem.ts";
import type { CloudEnv } from "../ports.ts";
import { describeProblem } from "./describe-problem.ts";
import { withDone } from "./done-messages.ts";
import { field, newPasswordField, notice, renderLayout } from "./layout.ts";
import { readLinkSecret } from "./link-script.ts";
import { type PageEnv, readForm, redirectTo, renderFormError } from "./page-parts.ts";
import { authProblemMessages } from "./sign-in.ts";

/** `GET /forgot-password`; 404 if this server has no passwords. */
export async function getForgotPassword({ parts }: PageEnv, context: Context<CloudEnv>): Promise<Response> {
  if (parts.accounts.signInOptions.password === null) return problem("not_found");
  return context.html(forgotPage("", null));
}

/** `POST /forgot-password`: sends the email. The answer is the same whether or not the address has an account. */
export async function postForgotPassword(
  { parts, callApi }: PageEnv,
  context: Context<CloudEnv>,
): Promise<Response> {
  const form = await readForm(context);
  if (!form.ok) return form.refusal;
  const email = form.value.get("email") ?? "";
  const answer = await callApi(context, "POST", "/api/auth/request-password-reset", { email });
  if (answer.ok) return context.html(emailSentPage(email));
  return renderFormError(
    context,
    answer,
    forgotPage(email, await describeProblem(answer, authProblemMessages(parts.accounts.signInOptions))),
  );
}

/** `GET /reset-password`: the emailed link opens this page with its secret after the `#`, where the page's script reads it. */
export async function getResetPassword({ parts }: PageEnv, context: Context<CloudEnv>): Promise<Response> {
  const { password } = parts.accounts.signInOptions;
  return password === null ? problem("not_found") : context.html(resetPage(password, "", null));
}

/** `POST /reset-password`: sets the password, which ends all of the account's sessions, and redirects to the sign-in page. */
export async function postResetPassword(
  { parts, callApi }: PageEnv,
  context: Context<CloudEnv>,
): Promise<Response> {
  const { signInOptions } = parts.accounts;
  if (signInOptions.password === null) return problem("not_found");
  const form = await readForm(context);
  if (!form.ok) return form.refusal;
  const token = readLinkSecret(form.value.get("link") ?? "");
  const newPassword = form.value.get("password") ?? "";
  const answer = await callApi(context, "POST", "/api/auth/reset-password", { token, newPassword });
  if (answer.ok) return redirectTo(withDone("/sign-in", "/sign-in", "password-set"));
  const message = await describeProblem(answer, {
    ...authProblemMessages(signInOptions),
    invalid_token: "This link is already used, expired or incomplete. Request a new one.",
  });
  return renderFormError(context, answer, resetPage(signInOptions.password, token, message));
}

function forgotPage(email: string, message: string | null): Html {
  const body = html`<section>
<h1>Forgot your password?</h1>
${notice(message)}
<p>Enter the email address of your account. We will send a link to set a new password.</p>
<form method="post" action="/forgot-password">
${field({ name: "email", label: "Email", type: "email", autocomplete: "username", value: email, maxLength: 254, isFocused: true })}
<div class="actions"><button>Send link</button></div>
</form>
<p><a href="/sign-in">Back to sign-in</a></p>
</section>`;
  return renderLayout({ title: "Forgot your password?", body, person: null });
}

function emailSentPage(email: string): Html {
  const body = html`<section>
<h1>Check your email</h1>
<p class="done" role="status">If ${email} has an account here, we have sent it a link to set a new password. The link expires in one hour.</p>
<p><a href="/sign-in">Back to sign-in</a></p>
</section>`;
  return renderLayout({ title: "Check your email", body, person: null });
}

function resetPage(
  bounds: NonNullable<SignInOptions["password"]>,
  secret: string,
  message: string | null,
): Html {
  const body = html`<section>
<h1>Set a new password</h1>
${notice(message)}
<form id="link-form" method="post" action="/reset-password">
<div id="link-row" ${secret === "" ? "" : html`hidden`}>
${field({ name: "link", label: "Link from the email", type: "text", autocomplete: "off", value: secret })}
</div>
${newPasswordField("New password", bounds, secret !== "")}
<p class="hint">You will be signed out on all devices.</p>
<div class="actions"><button>Set password</button></div>
</form>
<p><a href="/forgot-password">Request a new link</a></p>
</section>`;
  return renderLayout({
    title: "Set a new password",
    body,
    person: null,
    runsLinkScript: true,
  });
}
