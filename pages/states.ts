import { html } from "hono/html";
import { filterName, nameFilterValue } from "./dimension-names.ts";
import type { NameOfValue } from "./filters.ts";
import type { Html } from "./html.ts";
import { renderCommand } from "./tools.ts";
import { type View, viewHref } from "./view.ts";

/** Renders the state of a page that has nothing to list, with what to do. */
export const renderState = (title: string, body: Html | string, more: Html | "" = ""): Html =>
  html`<section class="panel state"><h2>${title}</h2><p class="quiet">${body}</p>${more}</section>`;

/** Nothing matches: names the filters to drop, with a link without them. */
export function renderEmpty(view: View, what: string, nameOf: NameOfValue = () => null): Html {
  if (view.filters.length === 0)
    return renderState(
      `No ${what} in this period`,
      "Choose a longer period.",
      "period" in view.values
        ? html`<p><a href="${viewHref(view, { values: { period: "12m" } })}">Show 12 months</a></p>`
        : "",
    );
  return renderState(
    `No ${what} match these filters`,
    view.filters.length === 1 ? "Remove the filter to see more." : "Remove one of them to see more.",
    html`<ul class="plain">${view.filters.map(
      (filter) =>
        html`<li><a href="${viewHref(view, { filters: view.filters.filter((each) => each !== filter) })}">Without ${filterName(filter.name).toLowerCase()} <bdi>${nameFilterValue(filter.name, filter.value, nameOf)}</bdi></a></li>`,
    )}</ul>`,
  );
}

/** A step on the way to the first call. */
export interface FirstStep {
  readonly text: Html | string;
  readonly isDone: boolean;
  readonly command?: string;
}

/** Renders the steps to the first metered call. They change while the page is open. */
export const renderFirstRun = (steps: readonly FirstStep[]): Html =>
  html`<section class="panel" aria-labelledby="first-title"><h2 id="first-title">Nothing metered yet</h2>
    <ol class="steps">${steps.map(
      ({ text, isDone, command }) =>
        html`<li class="${isDone ? "done" : ""}"><div>${text}<span class="hidden">${isDone ? " (done)" : " (open)"}</span>${command === undefined || isDone ? "" : renderCommand(command)}</div></li>`,
    )}</ol></section>`;

/** A page that could not be read at all. */
export interface PageFailure {
  /** The code of the problem. */
  readonly code: string;
  /** Where the reason is, and who finds it with `command`. */
  readonly sentence: string;
  readonly command: string;
  /** The address that tries again. */
  readonly address: string;
  readonly works: string;
}

/** Renders a failure: how to find its cause, how to try again, and what still works. */
export const renderFailure = ({ code, sentence, command, address, works }: PageFailure): Html =>
  renderState(
    "This page could not be read",
    sentence,
    html`${renderCommand(command)}<p class="quiet">${works} Code: <code>${code}</code></p><p><a href="${address}">Try again</a></p>`,
  );
