import { html } from "hono/html";
import type { Html } from "./html.ts";

/** The parts of a page. */
export interface DocumentParts {
  readonly title: string;
  /** The path of the stylesheet. */
  readonly stylesheetPath: string;
  /** More elements of `<head>`. Default: none. */
  readonly head?: Html;
  readonly header: Html;
  readonly main: Html;
  /** The class of `<main>`. Default: none. */
  readonly mainClass?: string;
  /** The elements after `<main>`. Default: none. */
  readonly end?: Html | "";
}

/** Renders the document around the parts of a page. */
export function renderDocument(parts: DocumentParts): Html {
  const { title, stylesheetPath, head = "", header, main, mainClass = "", end = "" } = parts;
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
<link rel="stylesheet" href="${stylesheetPath}">
${head}
</head>
<body>
<a class="skip" href="#main">Skip to content</a>
<header>${header}</header>
<main id="main" class="${mainClass}">${main}</main>
${end}
</body>
</html>`;
}
