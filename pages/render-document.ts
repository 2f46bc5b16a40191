import { html } from "hono/html";
import type { Html } from "./html.ts";

/** The parts of a document. */
export interface DocumentParts {
  readonly title: string;
  /** The paths of its style sheets. */
  readonly styles: readonly string[];
  /** More elements of `<head>`. Default: none. */
  readonly head?: Html;
  /** With one element whose ID is `main`. */
  readonly body: Html;
}

const ICON =
  "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 18 18'%3E%3Cpath fill='%236c8dfd' d='M1 10h4v7H1zM7 5h4v12H7zM13 1h4v16h-4z'/%3E%3C/svg%3E";

/** Renders the document around a page. Search engines are told not to index it. */
export const renderDocument = ({ title, styles, head = html``, body }: DocumentParts): Html =>
  html`<!doctype html>
<html lang="en" dir="ltr">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<title>${title}</title>
<link rel="icon" href="${ICON}">
${styles.map((path) => html`<link rel="stylesheet" href="${path}">`)}
${head}
</head>
<body>
<a class="skip" href="#main">Skip to content</a>
${body}
</body>
</html>`;
