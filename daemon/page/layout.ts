import { html } from "hono/html";
import type { Html } from "../../pages/html.ts";
import { renderDocument } from "../../pages/render-document.ts";

/** Renders a page of the daemon. Search engines are told not to index it. */
export function renderLayout(title: string, header: Html, main: Html, footer: Html): Html {
  const head = html`<meta name="robots" content="noindex">
<link rel="icon" href="data:,">
<script src="/page.js" defer></script>`;
  const end = html`<footer>${footer}</footer>`;
  return renderDocument({ title, stylesheetPath: "/page.css", head, header, main, end });
}
