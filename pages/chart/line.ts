import { html } from "hono/html";
import type { Html } from "../html.ts";

/** Renders a line over equal steps, with the area below it. The host adds the table of its values. */
export function renderLine(values: readonly number[], format: (value: number) => string): Html {
  const highest = Math.max(1, ...values);
  const last = Math.max(1, values.length - 1);
  const points = values.map(
    (value, n) => `${round((n * 1_000) / last)} ${round(100 - (98 * value) / highest)}`,
  );
  const path = points.length === 1 ? `M0 ${points[0]?.split(" ")[1]}H1000` : `M${points.join("L")}`;
  return html`<div class="plot">
    <div class="scale" aria-hidden="true"><span>${format(highest)}</span><span>${format(0)}</span></div>
    <svg class="low" viewBox="0 0 1000 100" preserveAspectRatio="none" aria-hidden="true" focusable="false">
      <path class="under" d="${path}V100H0Z" /><path class="curve" d="${path}" />
    </svg>
  </div>`;
}

const round = (value: number): number => Math.round(value * 10) / 10;
