import { html } from "hono/html";
import type { Html } from "../html.ts";
import { highestOf, percent, stackHeights } from "./scale.ts";

/** Renders values as bars of one line's height. Their sum is stated next to it, so it is hidden from screen readers. */
export function renderSpark(values: readonly bigint[]): Html {
  const highest = highestOf(values);
  const width = 100 / Math.max(1, values.length);
  return html`<svg class="spark" aria-hidden="true" focusable="false">${values.map((value, n) => {
    const [height = 0] = stackHeights([value], highest);
    return height === 0
      ? ""
      : html`<rect class="f0" x="${percent(n * width)}" y="${percent(100 - height)}" width="${percent(width * 0.8)}" height="${percent(height)}" />`;
  })}</svg>`;
}
