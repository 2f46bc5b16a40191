import { html } from "hono/html";
import type { AccountPerson } from "../../core/ports/accounts.ts";
import type { WorkspaceAccess } from "../store/workspaces.ts";
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
</body>
</html>`;
}

function workspaceNav(workspaces: readonly WorkspaceAccess[], workspaceId: string | undefined): Markup | "" {
  if (workspaces.length === 0) return "";
  const links = workspaces.map((workspace) => {
    const isShown = workspace.workspaceId === workspaceId;
    return html`<a href="/w/${workspace.workspaceId}" ${isShown ? html`aria-current="true"` : ""}>${workspace.name}</a>`;
  });
  return html`<nav aria-label="Workspaces">${links}</nav>`;
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

/** A labelled field. */
export function field(input: {
  readonly name: string;
  readonly label: string;
  readonly type: "text" | "email" | "password";
  readonly autocomplete: string;
  readonly value?: string;
  readonly hint?: string;
  readonly isFirst?: boolean;
}): Markup {
  const { name, label, type, autocomplete, value = "", hint, isFirst = false } = input;
  const described = hint === undefined ? "" : html`aria-describedby="${name}-hint"`;
  return html`<label for="${name}">${label}</label>
<input id="${name}" name="${name}" type="${type}" autocomplete="${autocomplete}" value="${value}" required ${described} ${isFirst ? "autofocus" : ""}>
${hint === undefined ? "" : html`<p class="hint" id="${name}-hint">${hint}</p>`}`;
}
