import { html } from "hono/html";
import type { Html } from "../html.ts";
import { highestOf } from "./scale.ts";

/** A cell with what it stands for. A null value is outside of the period. */
export interface HeatCell {
  readonly label: string;
  readonly value: bigint | null;
  /** Such as `not metering`, if the meter did not run. */
  readonly gap?: string;
}

const SIZE = 12;
const LABEL_WIDTH = 28;
const LEVELS = 4;

/** How large a unit of the drawing is on the screen, in pixels, if there is room. */
const SCALE = 1.4;

/** Returns 0 for nothing, otherwise 1 to 4 by the share of the highest value, so that anything above 0 is visible. */
export function heatLevel(value: bigint, highest: bigint): number {
  if (value <= 0n || highest <= 0n) return 0;
  const share = Number((value * 1_000n) / highest) / 1_000;
  return Math.max(1, Math.min(LEVELS, Math.ceil(share * LEVELS)));
}

/** A row of cells. */
export interface HeatRow {
  readonly name: string;
  readonly cells: readonly HeatCell[];
}

/** The most columns that a phone shows in a readable size. */
const PHONE_COLUMNS = 24;

/** Renders what the shades stand for: from nothing to the highest value, and times without the meter if there are any. */
function renderKey(highest: bigint, hasGaps: boolean, format: (value: bigint) => string): Html {
  const square = (name: string, at = 0) =>
    html`<rect class="${name}" x="${at * SIZE + 1}" y="1" width="${SIZE - 2}" height="${SIZE - 2}" rx="2" />`;
  const drawing = (length: number, squares: readonly Html[]) =>
    html`<svg width="${length * SIZE}" height="${SIZE}" focusable="false">${squares}</svg>`;
  const shades = Array.from({ length: LEVELS + 1 }, (_, level) => square(`h${level}`, level));
  return html`<ul class="legend" aria-hidden="true"><li>${format(0n)} ${drawing(shades.length, shades)} ${format(highest)}</li>${hasGaps ? html`<li>${drawing(1, [square("stopped")])} not metering</li>` : ""}</ul>`;
}

/**
 * Renders rows of cells, darker with the value. `columns` are labels by the position of their column. The host adds the table of
 * its values, or a link to it. One with many columns scrolls on a phone, so it has a `label` and takes the focus.
 */
export function renderHeatmap(
  label: string,
  rows: readonly HeatRow[],
  columns: ReadonlyMap<number, string>,
  format: (value: bigint) => string,
): Html {
  const highest = highestOf(rows.flatMap(({ cells }) => cells.map(({ value }) => value ?? 0n)));
  const length = Math.max(1, ...rows.map(({ cells }) => cells.length));
  const [width, height] = [LABEL_WIDTH + length * SIZE, (rows.length + 1) * SIZE];
  const renderCell = ({ label: time, value, gap }: HeatCell, x: number, y: number) =>
    value === null
      ? ""
      : html`<rect class="${gap === undefined ? `h${heatLevel(value, highest)}` : "stopped"}" data-tip="${time}: ${gap ?? format(value)}" x="${LABEL_WIDTH + x * SIZE}" y="${y * SIZE}" width="${SIZE - 2}" height="${SIZE - 2}" rx="2" />`;
  const scrolls =
    length > PHONE_COLUMNS
      ? html`class="heat long" tabindex="0" role="region" aria-label="${label}"`
      : html`class="heat"`;
  return html`<div ${scrolls}><svg width="${Math.round(width * SCALE)}" viewBox="0 0 ${width} ${height}" aria-hidden="true" focusable="false">${rows.map(
    ({ name, cells }, y) =>
      html`<text x="0" y="${y * SIZE + 8}">${name}</text>${cells.map((cell, x) => renderCell(cell, x, y))}`,
  )}${[...columns].map(([x, label]) => html`<text x="${LABEL_WIDTH + x * SIZE}" y="${rows.length * SIZE + 8}">${label}</text>`)}</svg></div>${renderKey(
    highest,
    rows.some(({ cells }) => cells.some(({ value, gap }) => value !== null && gap !== undefined)),
    format,
  )}`;
}
