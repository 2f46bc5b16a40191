import { html } from "hono/html";
import type { Html } from "../html.ts";
import { percent } from "./scale.ts";

/** A call on a lane, in shares of the lane's length from 0 to 1. */
export interface LaneCall {
  readonly start: number;
  readonly length: number;
  /** How much of the length passed before the first byte. */
  readonly waiting: number;
  readonly failed?: boolean;
  readonly colour?: number;
  readonly tip?: string;
}

/** The shortest bar, in percent. */
const MIN_WIDTH = 0.6;

/** Renders calls as bars along one lane: waiting pale, streaming full. */
export function renderLane(calls: readonly LaneCall[]): Html {
  return html`<svg aria-hidden="true" focusable="false"><rect class="track" y="46%" width="100%" height="1" />${calls.map(renderCall)}</svg>`;
}

function renderCall({ start, length, waiting, failed = false, colour = 0, tip }: LaneCall): Html {
  const width = Math.max(MIN_WIDTH, 100 * length);
  const x = Math.min(100 * start, 100 - width);
  const first = width * Math.min(1, Math.max(0, waiting));
  const rect = (from: number, size: number, kind: string) =>
    size <= 0
      ? ""
      : html`<rect class="${kind}" x="${percent(from)}" y="10%" width="${percent(size)}" height="80%" rx="1" />`;
  return html`<g${tip === undefined ? "" : html` data-tip="${tip}"`}>${failed ? rect(x, width, "failed-call") : html`${rect(x, first, "wait")}${rect(x + first, width - first, `f${colour}`)}`}</g>`;
}
