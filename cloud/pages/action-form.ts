import { html } from "hono/html";
import type { Html } from "../../pages/html.ts";
import type { PageCall } from "./page-call.ts";

/** The hidden fields of a form, by name. */
type HiddenFields = Readonly<Record<string, string>>;

/** Renders a form that posts an action to a page of the workspace. It works without scripts. */
export const renderActionForm = (
  { place }: Pick<PageCall, "place">,
  path: string,
  hidden: HiddenFields & { readonly action: string },
  body: Html,
): Html =>
  html`<form method="post" class="form" action="${place.base}${path}">${Object.entries(hidden).map(
    ([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`,
  )}${body}</form>`;

/** Renders the button of an action on one row. `name` tells screen readers which row it is. */
export const renderRowButton = (text: string, name: string, kind: "second" | "danger" = "second"): Html =>
  html`<button class="${kind}">${text}<span class="hidden"> <bdi>${name}</bdi></span></button>`;

/** Renders a choice with its label above it. */
export const renderSelect = (
  name: string,
  label: string,
  choices: readonly (readonly [value: string, name: string])[],
  selected: string,
): Html =>
  html`<label for="${name}">${label}</label><select id="${name}" name="${name}">${choices.map(
    ([value, text]) =>
      html`<option value="${value}"${value === selected ? html` selected` : ""}>${text}</option>`,
  )}</select>`;
