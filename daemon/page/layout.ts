import { html } from "hono/html";
import type { HtmlEscapedString } from "hono/utils/html";

/** A piece of a page, escaped. */
export type Html = HtmlEscapedString | Promise<HtmlEscapedString>;

/** The frame that every page has. */
export function layout(title: string, header: Html, main: Html, footer: Html): Html {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${title}</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/page.css">
<script src="/page.js" defer></script>
</head>
<body>
<a class="skip" href="#main">To the content</a>
<header>${header}</header>
<main id="main">${main}</main>
<footer>${footer}</footer>
</body>
</html>`;
}
