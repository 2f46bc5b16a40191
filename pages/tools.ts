import { html } from "hono/html";
import type { Html } from "./html.ts";

/** The ways to take a view elsewhere. */
export interface ViewTools {
  /** The addresses of the view in other formats. */
  readonly csv?: string;
  readonly json?: string;
  /** Whether the page has a chart that a picture can be made of. */
  readonly hasChart?: boolean;
  /** The commands that show the same. */
  readonly curl?: string;
  readonly command?: string;
}

/** Renders the exports of a view: files, pictures and the commands behind it. What needs the script is hidden without it. */
export function renderTools({ csv, json, hasChart = false, curl, command }: ViewTools): Html {
  const button = (text: string, attribute: Html) =>
    html`<button type="button" data-script hidden ${attribute}>${text}</button>`;
  return html`<section class="tools" aria-label="Export">
    ${csv === undefined ? "" : html`<a href="${csv}">CSV</a>`}
    ${json === undefined ? "" : html`<a href="${json}">JSON</a>`}
    ${hasChart ? html`${button("PNG", html`data-picture="png"`)}${button("SVG", html`data-picture="svg"`)}` : ""}
    ${button("Copy as Markdown", html`data-markdown`)}
    ${curl === undefined ? "" : button("Copy curl", html`data-copy="${curl}"`)}
    ${command === undefined ? "" : html`<code>${command}</code>${button("Copy command", html`data-copy="${command}"`)}`}
  </section>`;
}

/** Renders a command, or another text, to copy. */
export const renderCommand = (command: string): Html =>
  html`<div class="command"><pre tabindex="0">${command}</pre><button type="button" data-script hidden data-copy="${command}">Copy</button></div>`;
