import { html } from "hono/html";
import type { Html } from "../html.ts";
import { highestOf } from "./scale.ts";

/** A cell with what it stands for. A null value is outside of the period. */
export interface HeatCell {
  readonly label: string;
  readonly value: bigint | null;
}

const SIZE = 12;
const LABEL_WIDTH = 28;
const LEVELS = 4;

/** Returns 0 for nothing, otherwise 1 to 4 by the share of the highest value, so that anything above 0 is visible. */
export function heatLevel(value: bigint, highest: bigint): number {
  if (value <= 0n || highest <= 0n) return 0;
  const share = Number((value * 1_000n) / highest) / 1_000;
  return Math.max(1, Math.min(LEVELS, Math.ceil(share * LEVELS)));
}

/** Renders rows of cells, darker with the value. The host adds the table of its values. */
export function renderHeatmap(
  rows: readonly { readonly name: string; readonly cells: readonly HeatCell[] }[],
  format: (value: bigint) => string,
): Html {
  const highest = highestOf(rows.flatMap(({ cells }) => cells.map(({ value }) => value ?? 0n)));
  const columns = Math.max(1, ...rows.map(({ cells }) => cells.length));
  const [width, height] = [LABEL_WIDTH + columns * SIZE, rows.length * SIZE];
  return html`<div class="heat"><svg viewBox="0 0 ${width} ${height}" aria-hidden="true" focusable="false">${rows.map(
    ({ name, cells }, y) =>
      html`<text x="0" y="${y * SIZE + 9}">${name}</text>${cells.map(({ label, value }, x) =>
        value === null
          ? ""
          : html`<rect class="h${heatLevel(value, highest)}" data-tip="${label}: ${format(value)}" x="${LABEL_WIDTH + x * SIZE}" y="${y * SIZE}" width="${SIZE - 2}" height="${SIZE - 2}" rx="2" />`,
      )}`,
  )}</svg></div>`;
}
