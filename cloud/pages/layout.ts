import { html, raw } from "hono/html";
import type { AccountPerson, SignInOptions } from "../../core/ports/accounts.ts";
import type { Html } from "../../pages/html.ts";
import { renderDocument } from "../../pages/render-document.ts";
import type { WorkspaceAccess } from "../store/workspaces.ts";
import { LINK_SCRIPT } from "./link-script.ts";
import { STYLESHEET_PATH } from "./stylesheet.ts";

/** The contents of the layout that all pages share. */
export interface LayoutOptions {
  /** The document title; the body has its own heading. */
  readonly title: string;
  readonly body: Html;
  /** The signed-in person, shown in the header. Null if no one is signed in. */
  readonly person: AccountPerson | null;
  /** The workspaces in the header. Default: none. */
  readonly workspaces?: readonly WorkspaceAccess[];
  /** The current workspace. */
  readonly workspaceId?: string;
  /** Whether the page runs the script that moves a link's secret into its form. Default: false; the page runs no script. */
  readonly runsLinkScript?: boolean;
  /** `card` is one narrow, centred column for forms. Default: `wide`. */
  readonly shape?: "card" | "wide";
}

/** Renders a whole page. */
export function renderLayout({
  title,
  body,
  person,
  workspaces = [],
  workspaceId,
  runsLinkScript = false,
  shape = "wide",
}: LayoutOptions): Html {
  return renderDocument({
    title: `${title} · meter`,
    stylesheetPath: STYLESHEET_PATH,
    header: html`<a class="brand" href="/">meter</a>
${workspaceNav(workspaces, workspaceId)}
${person === null ? "" : accountForm(person)}`,
    main: body,
    mainClass: shape,
    end: runsLinkScript ? html`<script>${raw(LINK_SCRIPT)}</script>` : "",
  });
}

/** Most workspaces listed in the header; the start page lists all of them. */
const MAX_HEADER_WORKSPACES = 6;

function workspaceNav(workspaces: readonly WorkspaceAccess[], workspaceId: string | undefined): Html | "" {
  if (workspaces.length === 0) return "";
  const isShort = workspaces.length <= MAX_HEADER_WORKSPACES;
  const listed = isShort ? workspaces : workspaces.filter((each) => each.workspaceId === workspaceId);
  const links = listed.map((workspace) => {
    const isShown = workspace.workspaceId === workspaceId;
    return html`<a href="/w/${workspace.workspaceId}" ${isShown ? html`aria-current="true"` : ""}>${workspace.name}</a>`;
  });
  return html`<nav aria-label="Workspaces">${links}${isShort ? "" : html`<a href="/">All workspaces</a>`}</nav>`;
}

function accountForm(person: AccountPerson): Html {
  return html`<form class="account" method="post" action="/sign-out">
<span class="quiet" title="${person.email ?? ""}">${person.name}</span>
<button class="plain">Sign out</button>
</form>`;
}

/** Renders an error message above a form; screen readers announce it when the page opens. Empty for null. */
export function notice(text: string | null): Html | "" {
  return text === null ? "" : html`<p class="notice bad" role="alert">${text}</p>`;
}

/** Renders a success message. Empty for null. */
export function done(text: string | null): Html | "" {
  return text === null ? "" : html`<p class="done" role="status">${text}</p>`;
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
