import { html } from "hono/html";
import type { Html } from "./html.ts";
import { type View, viewHref } from "./view.ts";

/** Renders the links to the first and the next page of a list; nothing if the first page has all of it. */
export function renderListPages(
  view: View,
  nextCursor: string | null,
  what: string,
  isByTime = true,
): Html | "" {
  const isFirst = view.values.cursor === "";
  if (isFirst && nextCursor === null) return "";
  const link = (cursor: string, name: string, more: Html | "" = "") =>
    html`<a href="${viewHref(view, { values: { cursor } })}"${more}>${name}</a>`;
  const first = isFirst ? html`<span></span>` : link("", isByTime ? "Latest" : "First page");
  const next =
    nextCursor === null
      ? html`<span class="quiet">No more ${what}.</span>`
      : link(nextCursor, isByTime ? "Earlier" : "Next page", html` rel="next" data-key="n"`);
  return html`<nav class="pages" aria-label="Pages of ${what}">${first}${next}</nav>`;
}
