import { html } from "hono/html";
import { KIT_SCRIPT, KIT_STYLE } from "./client-files.data.ts";
import type { Html } from "./html.ts";
import { type FailedPart, renderFailedParts } from "./page-parts.ts";
import { type PagePlace, pageHref } from "./page-place.ts";
import { renderDocument } from "./render-document.ts";

/** A page in the navigation. */
export interface NavigationItem {
  /** Below the base of the host. */
  readonly path: string;
  readonly name: string;
}

/** What a host gives to all of its pages. */
export interface PageHost extends PagePlace {
  /** The pages in groups. */
  readonly navigation: readonly (readonly NavigationItem[])[];
  /** The state of metering, after the heading. */
  readonly state: Html | "";
  /** What is wrong with the host, on all pages. */
  readonly notices?: Html | "";
  /** The workspace and the person, around the navigation. Default: none; the host is a machine. */
  readonly account?: { readonly workspaces: Html; readonly person: Html };
  /** The style sheets besides that of the kit. Default: none. */
  readonly styles?: readonly string[];
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
  /** The shortest address of the view. It replaces the longer one that a form submits. */
  readonly address?: string;
  /** The way back to a list, before the heading. */
  readonly back?: NavigationItem;
  /** Next to the heading, such as periods. */
  readonly controls?: Html | "";
  readonly main: Html;
  /** The exports of the view. */
  readonly tools?: Html | "";
  /** The parts that could not be read. Default: none. */
  readonly failedParts?: readonly FailedPart[];
  /** How often the live parts are fetched again on a host without events, in milliseconds. Default: never. */
  readonly refreshMs?: number;
}

/** The files that all pages load. A cloud has more. */
export const CLIENT_FILES = [KIT_STYLE, KIT_SCRIPT] as const;

/** The content security policy of pages: everything comes from the server itself. `img-src` is for pictures of charts. */
export const FRAME_POLICY =
  "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src data:; form-action 'self'; " +
  "base-uri 'none'; frame-ancestors 'none'";

/** Renders a page with its navigation. */
export function renderFrame(host: PageHost, page: FramedPage): Html {
  const {
    heading,
    title,
    path,
    address,
    back,
    controls = "",
    main,
    tools = "",
    failedParts = [],
    refreshMs,
  } = page;
  const { base, account } = host;
  return renderDocument({
    title: `${title === undefined ? "" : `${title} · `}${heading} · meter`,
    styles: [KIT_STYLE.path, ...(host.styles ?? [])],
    head: html`<script src="${KIT_SCRIPT.path}" defer></script>`,
    body: html`<div class="frame">
<header class="side">
${renderBrand(pageHref(base, "/"))}
${account?.workspaces ?? ""}
${renderNavigation(host, page)}
<details class="menu"><summary>Menu</summary>${renderNavigation(host, page)}</details>
</header>
<div class="content">
<main id="main"${address === undefined ? "" : html` data-address="${address}"`}>
<div class="top">
${back === undefined ? "" : html`<a href="${pageHref(base, back.path)}">${back.name}</a><span class="quiet" aria-hidden="true">/</span>`}
<h1>${heading}</h1>
<span id="state" data-live>${host.state}</span>
<div class="end">${controls}</div>
</div>
<div id="stale" class="notice" hidden></div>
<div id="notices" data-live>${host.notices ?? ""}${renderFailedParts(failedParts, address ?? pageHref(base, path))}</div>
${main}
${tools}
</main>
<footer class="end-notes">
<p>${host.footer}</p>
<p id="live" role="status"${host.eventsPath === null ? "" : html` data-events="${host.eventsPath}"`}${refreshMs === undefined ? "" : html` data-refresh="${refreshMs}"`}></p>
<button type="button" id="keys" data-script hidden>Keyboard shortcuts: on</button>
<p id="status" class="hidden" role="status"></p>
</footer>
</div>
</div>`,
  });
}

/** Renders the links to all pages. A narrow screen has them in a menu, which needs no script. */
const renderNavigation = (host: PageHost, { path }: FramedPage): Html =>
  html`<nav aria-label="Pages">${host.navigation.map((group) => html`<ul>${group.map((item) => renderItem(host, item, path))}</ul>`)}</nav>
${host.account?.person ?? ""}`;

/** Renders the name of the product, which leads to the start page. */
export const renderBrand = (href: string): Html =>
  html`<a class="brand" href="${href}"><svg viewBox="0 0 18 18" aria-hidden="true"><path d="M1 10h4v7H1zM7 5h4v12H7zM13 1h4v16h-4z" /></svg>meter</a>`;

const renderItem = ({ base }: PagePlace, { path, name }: NavigationItem, current: string): Html =>
  html`<li><a href="${pageHref(base, path)}"${path === current ? html` aria-current="page"` : ""}>${name}</a></li>`;
