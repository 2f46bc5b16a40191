import { html } from "hono/html";
import { KIT_SCRIPT, KIT_STYLE } from "./client-files.data.ts";
import type { Html } from "./html.ts";
import type { PageClock } from "./times.ts";

/** A page in the navigation. */
export interface NavigationItem {
  readonly path: string;
  readonly name: string;
}

/** What a host gives to all of its pages. */
export interface PageHost extends PageClock {
  /** The pages in groups. */
  readonly navigation: readonly (readonly NavigationItem[])[];
  /** The state of metering, after the heading. */
  readonly state: Html | "";
  /** What is wrong with the host, on all pages. */
  readonly notices?: Html | "";
  /** Below the page. */
  readonly footer: Html | string;
  /** The server-sent events after which live parts are fetched again. Null: none. */
  readonly eventsPath: string | null;
}

/** One page. */
export interface FramedPage {
  /** The heading, and the beginning of the title. */
  readonly heading: string;
  /** Names the view in the title, such as the period or today's cost. */
  readonly title?: string;
  /** The page of the navigation that this one belongs to. */
  readonly path: string;
  /** The way back to a list, before the heading. */
  readonly back?: NavigationItem;
  /** Next to the heading, such as periods. */
  readonly controls?: Html | "";
  readonly main: Html;
  /** The exports of the view. */
  readonly tools?: Html | "";
}

/** The files that all pages load. */
export const CLIENT_FILES = [KIT_STYLE, KIT_SCRIPT] as const;

/** The content security policy of pages: everything comes from the server itself. `img-src` is for pictures of charts. */
export const FRAME_POLICY =
  "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src data:; form-action 'self'; " +
  "base-uri 'none'; frame-ancestors 'none'";

const ICON =
  "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 18 18'%3E%3Cpath fill='%236c8dfd' d='M1 10h4v7H1zM7 5h4v12H7zM13 1h4v16h-4z'/%3E%3C/svg%3E";

/** Renders a page with its navigation. Search engines are told not to index it. */
export function renderFrame(host: PageHost, page: FramedPage): Html {
  const { heading, title, back, controls = "", main, tools = "" } = page;
  return html`<!doctype html>
<html lang="en" dir="ltr">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<title>${title === undefined ? "" : `${title} · `}${heading} · meter</title>
<link rel="icon" href="${ICON}">
<link rel="stylesheet" href="${KIT_STYLE.path}">
<script src="${KIT_SCRIPT.path}" defer></script>
</head>
<body>
<a class="skip" href="#main">Skip to content</a>
<div class="frame">
<header class="side">
<a class="brand" href="/"><svg viewBox="0 0 18 18" aria-hidden="true"><path d="M1 10h4v7H1zM7 5h4v12H7zM13 1h4v16h-4z" /></svg>meter</a>
<nav aria-label="Pages">${host.navigation.map((group) => html`<ul>${group.map((item) => renderItem(item, page.path))}</ul>`)}</nav>
</header>
<div class="content">
<main id="main">
<div class="top">
${back === undefined ? "" : html`<a href="${back.path}">${back.name}</a><span class="quiet" aria-hidden="true">/</span>`}
<h1>${heading}</h1>
<span id="state" data-live>${host.state}</span>
<div class="end">${controls}</div>
</div>
<div id="notices" data-live>${host.notices ?? ""}</div>
${main}
${tools}
</main>
<footer class="end-notes">
<p>${host.footer}</p>
<p id="live" role="status"${host.eventsPath === null ? "" : html` data-events="${host.eventsPath}"`}></p>
<button type="button" id="keys" data-script hidden>Keyboard shortcuts: on</button>
<p id="status" class="hidden" role="status"></p>
</footer>
</div>
</div>
</body>
</html>`;
}

const renderItem = ({ path, name }: NavigationItem, current: string): Html =>
  html`<li><a href="${path}"${path === current ? html` aria-current="page"` : ""}>${name}</a></li>`;
