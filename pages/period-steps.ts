import { html } from "hono/html";
import { stepPeriod } from "../core/pricing/view/step-period.ts";
import type { UsageQuery } from "../core/pricing/view/usage-query.ts";
import { findZone } from "../core/values/zone.ts";
import type { Html } from "./html.ts";
import type { PageClock } from "./times.ts";

const STEPS = {
  previous: { key: "ArrowLeft", rel: "prev", name: "Previous period", mark: "‹" },
  next: { key: "ArrowRight", rel: "next", name: "Next period", mark: "›" },
} as const;

/** Renders the items of a switch that lead to the periods before and after this one. */
export function renderPeriodSteps(
  period: UsageQuery["period"],
  { now, zone: name }: PageClock,
  hrefOf: (period: UsageQuery["period"]) => string,
): Readonly<Record<keyof typeof STEPS, Html>> {
  const zone = findZone(name);
  const render = (direction: keyof typeof STEPS): Html => {
    const { key, rel, name: words, mark } = STEPS[direction];
    const to = zone === null ? null : stepPeriod(period, direction, { now, zone });
    return to === null
      ? html`<li class="quiet" aria-hidden="true">${mark}</li>`
      : html`<li><a id="period-${direction}" href="${hrefOf(to)}" rel="${rel}" data-key="${key}" aria-label="${words}" title="${words}">${mark}</a></li>`;
  };
  return { previous: render("previous"), next: render("next") };
}
