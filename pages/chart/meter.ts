import { html } from "hono/html";
import type { Html } from "../html.ts";

export interface Meter {
  /** 0 to 100, or more if it is exceeded. */
  readonly percent: number;
  /** Where a mark is, such as the elapsed time. Null: no mark. */
  readonly mark?: number | null;
  /** `ok` in the accent, the others in stronger colours. */
  readonly level?: "ok" | "warning" | "exceeded";
}

const clamp = (value: number): number => Math.min(100, Math.max(0, value));

/** Renders a bar that is filled to a share. The share is also stated in words next to it, so it is hidden from screen readers. */
export function renderMeter({ percent, mark = null, level = "ok" }: Meter): Html {
  const fill = level === "ok" ? "f0" : `level-${level}`;
  return html`<svg viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true" focusable="false"><rect class="track" width="100" height="8" /><rect class="${fill}" width="${clamp(percent)}" height="8" />${mark === null ? "" : html`<rect class="now" x="${Math.min(99, clamp(mark))}" width="1" height="8" />`}</svg>`;
}
