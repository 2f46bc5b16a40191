import { html, raw } from "hono/html";
import type { AccountPerson, SignInWays } from "../../core/ports/accounts.ts";
import type { WorkspaceAccess } from "../store/workspaces.ts";
import { LINK_SCRIPT } from "./link-script.ts";
import { STYLESHEET_PATH } from "./stylesheet.ts";

/** Escaped HTML, as `html` makes it. */
export type Markup = ReturnType<typeof html>;

/** What goes into the frame that all pages share. */
export interface PageParts {
  /** Of the window; the body has its own heading. */
  readonly title: string;
  readonly body: Markup;
  /** Null on pages for those who are not signed in. */
  readonly person: AccountPerson | null;
  /** Those to switch between, and the one that is shown. Default: none. */
  readonly workspaces?: readonly WorkspaceAccess[];
  readonly workspaceId?: string;
  /** Whether the page takes the secret of a link into its form. Default: false, and it may run no script. */
  readonly takesLink?: boolean;
  /** `card` is one narrow column in the middle, for forms. Default: `wide`. */
  readonly shape?: "card" | "wide";
}

/** A whole page. */
export function layout({
  title,
  body,
  person,
  workspaces = [],
  workspaceId,
  takesLink = false,
  shape = "wide",
}: PageParts): Markup {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title} · meter</title>
<link rel="stylesheet" href="${STYLESHEET_PATH}">
</head>
<body>
<a class="skip" href="#main">Skip to the content</a>
<header>
<a class="brand" href="/">meter</a>
${workspaceNav(workspaces, workspaceId)}
${person === null ? "" : account(person)}
</header>
<main id="main" class="${shape}">
${body}
</main>
${takesLink ? html`<script>${raw(LINK_SCRIPT)}</script>` : ""}
</body>
</html>`;
}

/** More are not listed on every page: the start page has them all. */
const MOST_IN_HEADER = 6;

function workspaceNav(workspaces: readonly WorkspaceAccess[], workspaceId: string | undefined): Markup | "" {
  if (workspaces.length === 0) return "";
  const isShort = workspaces.length <= MOST_IN_HEADER;
  const listed = isShort ? workspaces : workspaces.filter((each) => each.workspaceId === workspaceId);
  const links = listed.map((workspace) => {
    const isShown = workspace.workspaceId === workspaceId;
    return html`<a href="/w/${workspace.workspaceId}" ${isShown ? html`aria-current="true"` : ""}>${workspace.name}</a>`;
  });
  return html`<nav aria-label="Workspaces">${links}${isShort ? "" : html`<a href="/">All workspaces</a>`}</nav>`;
}

function account(person: AccountPerson): Markup {
  return html`<form class="account" method="post" action="/sign-out">
<span class="quiet" title="${person.email ?? ""}">${person.name}</span>
<button class="plain">Sign out</button>
</form>`;
}

/** A message above a form, read out when the page opens; nothing where there is none. */
export function notice(text: string | null): Markup | "" {
  return text === null ? "" : html`<p class="notice" role="alert">${text}</p>`;
}

/** The same of something that went well. */
export function done(text: string | null): Markup | "" {
  return text === null ? "" : html`<p class="done" role="status">${text}</p>`;
}

/** A labelled field that must be filled in. */
export function field(input: {
  readonly name: string;
  readonly label: string;
  readonly type: "text" | "email" | "password";
  readonly autocomplete: string;
  readonly value?: string;
  readonly hint?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly isFirst?: boolean;
}): Markup {
  const { name, label, type, autocomplete, value = "", hint, minLength, maxLength, isFirst } = input;
  const attributes = [
    minLength === undefined ? "" : html`minlength="${minLength}"`,
    maxLength === undefined ? "" : html`maxlength="${maxLength}"`,
    hint === undefined ? "" : html`aria-describedby="${name}-hint"`,
    isFirst === true ? html`autofocus` : "",
  ];
  return html`<label for="${name}">${label}</label>
<input id="${name}" name="${name}" type="${type}" autocomplete="${autocomplete}" value="${value}" required ${attributes.map((each) => html`${each} `)}>
${hint === undefined ? "" : html`<p class="hint" id="${name}-hint">${hint}</p>`}`;
}

/** A field for a password that is to be, with the least that the accounts take; browsers would cut what is too long unseen. */
export function newPasswordField(
  label: string,
  { minLength }: NonNullable<SignInWays["password"]>,
  isFirst: boolean,
): Markup {
  const hint = `${minLength} characters or more; several words make a good one.`;
  return field({
    name: "password",
    label,
    type: "password",
    autocomplete: "new-password",
    minLength,
    hint,
    isFirst,
  });
}
