import { html } from "hono/html";
import { UNKNOWN } from "../core/values/text/format-count.ts";
import type { Html } from "./html.ts";

/** Renders a stored name, which may be written from right to left. A dash if it is unknown. */
export const renderName = (name: string | null | undefined): Html =>
  name === null || name === undefined || name === ""
    ? html`<span class="quiet">${UNKNOWN}</span>`
    : html`<bdi>${name}</bdi>`;
