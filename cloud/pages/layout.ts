import { html, raw } from "hono/html";
import type { AccountPerson, SignInOptions } from "../../core/ports/accounts.ts";
import { FORM_STYLE, KIT_STYLE } from "../../pages/client-files.data.ts";
import { renderBrand } from "../../pages/frame.ts";
import type { Html } from "../../pages/html.ts";
import { renderDocument } from "../../pages/render-document.ts";
import { LINK_SCRIPT } from "./link-script.ts";

/** The contents of a page with one narrow column, such as that of the sign-in. */
export interface LayoutOptions {
  /** The document title; the body has its own heading. */
  readonly title: string;
  readonly body: Html;
  /** The signed-in person, shown in the header. Null if no one is signed in. */
  readonly person: AccountPerson | null;
  /** Whether the page runs the script that moves a link's secret into its form. Default: false; the page runs no script. */
  readonly runsLinkScript?: boolean;
}

/** Renders a whole page that is not in the frame of a workspace. */
export function renderLayout({ title, body, person, runsLinkScript = false }: LayoutOptions): Html {
  return renderDocument({
    title: `${title} · meter`,
    styles: [KIT_STYLE.path, FORM_STYLE.path],
    body: html`<header class="bare">${renderBrand("/")}${person === null ? "" : renderSignOut(person)}</header>
<main id="main" class="card">${body}</main>
${runsLinkScript ? html`<script>${raw(LINK_SCRIPT)}</script>` : ""}`,
  });
}

/** Renders the signed-in person, who can sign out. */
export const renderSignOut = ({ name, email }: AccountPerson): Html =>
  html`<form class="account" method="post" action="/sign-out"><span class="quiet" title="${email ?? ""}"><bdi>${name}</bdi></span> <button class="link">Sign out</button></form>`;

/** Renders an error message above a form; screen readers announce it when the page opens. Empty for null. */
export function notice(text: string | null): Html | "" {
  return text === null ? "" : html`<p class="notice bad" role="alert">${text}</p>`;
}

/** Renders a required form field with its label. */
export function field(input: {
  readonly name: string;
  readonly label: string;
  readonly type: "text" | "email" | "password";
  readonly autocomplete: string;
  readonly value?: string;
  readonly hint?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly isFocused?: boolean;
}): Html {
  const { name, label, type, autocomplete, value = "", hint, minLength, maxLength, isFocused } = input;
  const attributes = [
    minLength === undefined ? "" : html`minlength="${minLength}"`,
    maxLength === undefined ? "" : html`maxlength="${maxLength}"`,
    hint === undefined ? "" : html`aria-describedby="${name}-hint"`,
    isFocused === true ? html`autofocus` : "",
  ];
  return html`<label for="${name}">${label}</label>
<input id="${name}" name="${name}" type="${type}" autocomplete="${autocomplete}" value="${value}" required ${attributes.map((each) => html`${each} `)}>
${hint === undefined ? "" : html`<p class="hint" id="${name}-hint">${hint}</p>`}`;
}

/** Renders a field for a new password. It sets no `maxlength`: browsers would cut a longer password without telling. */
export function newPasswordField(
  label: string,
  { minLength }: NonNullable<SignInOptions["password"]>,
  isFocused: boolean,
): Html {
  const hint = `At least ${minLength} characters. Several words make a good password.`;
  return field({
    name: "password",
    label,
    type: "password",
    autocomplete: "new-password",
    minLength,
    hint,
    isFocused,
  });
}
