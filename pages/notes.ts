import { html } from "hono/html";
import type { Html } from "./html.ts";

/** Renders sentences that a reader of a page must know: as a list if there are several. */
export const renderNotes = (notes: readonly (Html | string)[]): Html | "" =>
  notes.length === 0
    ? ""
    : html`<div class="notice" role="note">${notes.length === 1 ? notes[0] : html`<ul>${notes.map((note) => html`<li>${note}</li>`)}</ul>`}</div>`;
