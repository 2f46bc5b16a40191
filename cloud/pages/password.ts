import type { Context } from "hono";
import { html } from "hono/html";
import type { SignInWays } from "../../core/ports/accounts.ts";
import { problem } from "../errors.ts";
import type { CloudEnv } from "../ports.ts";
import { field, layout, type Markup, newPasswordField, notice } from "./layout.ts";
import { secretOf } from "./link-script.ts";
import { goTo, type PageEnv, readForm, refuseForm } from "./page-parts.ts";
import { wordsOf } from "./refusal-words.ts";
import { refusalWords } from "./sign-in.ts";

/** `GET /forgot-password`; 404 where nobody has passwords. */
export async function getForgotPassword({ parts }: PageEnv, context: Context<CloudEnv>): Promise<Response> {
  if (parts.accounts.ways.password === null) return problem("not_found");
  return context.html(forgotPage("", null));
}

/** `POST /forgot-password`: the same page for everybody, whoever has an account. */
export async function postForgotPassword(
  { parts, askApi }: PageEnv,
  context: Context<CloudEnv>,
): Promise<Response> {
  const form = await readForm(context);
  if (!form.ok) return form.refusal;
  const email = form.value.get("email") ?? "";
  const answer = await askApi(context, "POST", "/api/auth/request-password-reset", { email });
  if (answer.ok) return context.html(letterPage(email));
  return refuseForm(
    context,
    answer,
    forgotPage(email, await wordsOf(answer, refusalWords(parts.accounts.ways))),
  );
}

/** `GET /reset-password`: the letter's link leads here, with its secret behind the `#`, where the page's script takes it from. */
export async function getResetPassword({ parts }: PageEnv, context: Context<CloudEnv>): Promise<Response> {
  const { password } = parts.accounts.ways;
  return password === null ? problem("not_found") : context.html(resetPage(password, "", null));
}

/** `POST /reset-password`: sets the password, which ends every session of the account, then on to signing in with it. */
export async function postResetPassword(
  { parts, askApi }: PageEnv,
  context: Context<CloudEnv>,
): Promise<Response> {
  const { ways } = parts.accounts;
  if (ways.password === null) return problem("not_found");
  const form = await readForm(context);
  if (!form.ok) return form.refusal;
  const token = secretOf(form.value.get("link") ?? "");
  const newPassword = form.value.get("password") ?? "";
  const answer = await askApi(context, "POST", "/api/auth/reset-password", { token, newPassword });
  if (answer.ok) return goTo("/sign-in?done=password-set");
  const message = await wordsOf(answer, {
    ...refusalWords(ways),
    invalid_token: "This link is used, older than an hour, or not whole. Ask for another letter.",
  });
  return refuseForm(context, answer, resetPage(ways.password, token, message));
}

function forgotPage(email: string, message: string | null): Markup {
  const body = html`<section>
<h1>Forgot your password?</h1>
${notice(message)}
<p>A letter with a link to set a new one goes to the address of your account.</p>
<form method="post" action="/forgot-password">
${field({ name: "email", label: "E-mail", type: "email", autocomplete: "username", value: email, maxLength: 254, isFirst: true })}
<div class="actions"><button>Send the letter</button></div>
</form>
<p><a href="/sign-in">Back to signing in</a></p>
</section>`;
  return layout({ title: "Forgot your password?", body, person: null, shape: "card" });
}

function letterPage(email: string): Markup {
  const body = html`<section>
<h1>Look into your mail</h1>
<p class="done" role="status">If ${email} has an account here, a letter is on its way to it. Its link is good for an hour.</p>
<p><a href="/sign-in">Back to signing in</a></p>
</section>`;
  return layout({ title: "Look into your mail", body, person: null, shape: "card" });
}

function resetPage(
  bounds: NonNullable<SignInWays["password"]>,
  secret: string,
  message: string | null,
): Markup {
  const body = html`<section>
<h1>Set a new password</h1>
${notice(message)}
<form id="link-form" method="post" action="/reset-password">
<div id="link-row" ${secret === "" ? "" : html`hidden`}>
${field({ name: "link", label: "Link of the letter", type: "text", autocomplete: "off", value: secret })}
</div>
${newPasswordField("New password", bounds, secret !== "")}
<p class="hint">Wherever you are signed in, you will be signed out.</p>
<div class="actions"><button>Set the password</button></div>
</form>
<p><a href="/forgot-password">Ask for another letter</a></p>
</section>`;
  return layout({ title: "Set a new password", body, person: null, shape: "card", takesLink: true });
}
