import { formatFigure } from "./format-figure.ts";
import type { Measure } from "./results.ts";

const WIDTH = 720;
const ROW = 22;
const MARGIN = { left: 170, right: 110, top: 30, bottom: 8 };
const OWN_COLOUR = "#1d4ed8";
const PEER_COLOUR = "#a3a3a3";
const GOAL_COLOUR = "#dc2626";

const escapeText = (text: string) =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");

/** Draws a measure as SVG: a bar for each contender, and a line for each goal. */
export function drawBars({ title, unit, bars, goals }: Measure): string {
  const lines = goals.flatMap(({ peer, most, least }) => {
    const base = peer === null ? 1 : bars.find(({ name }) => name === peer)?.value;
    const bound = most ?? least;
    return base === undefined || bound === undefined ? [] : [base * bound];
  });
  const top = Math.max(...bars.map(({ value }) => value), ...lines) * 1.05;
  const x = (value: number) => MARGIN.left + (value / top) * (WIDTH - MARGIN.left - MARGIN.right);
  const height = MARGIN.top + bars.length * ROW + MARGIN.bottom;
  const label = `${title}${unit === "" ? "" : `, ${unit}`}`;
  return `${[
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" font-family="sans-serif" font-size="12" role="img" aria-label="${escapeText(label)}">`,
    `<rect width="${WIDTH}" height="${height}" fill="#fff"/>`,
    `<text x="8" y="18" font-weight="bold">${escapeText(label)}</text>`,
    ...bars.flatMap(({ name, value }, row) => {
      const y = MARGIN.top + row * ROW;
      const width = Math.max(1, x(value) - MARGIN.left).toFixed(1);
      return [
        `<text x="${MARGIN.left - 8}" y="${y + 14}" text-anchor="end">${escapeText(name)}</text>`,
        `<rect x="${MARGIN.left}" y="${y + 2}" width="${width}" height="${ROW - 6}" fill="${row === 0 ? OWN_COLOUR : PEER_COLOUR}"/>`,
        `<text x="${(x(value) + 6).toFixed(1)}" y="${y + 14}">${formatFigure(value, unit)}</text>`,
      ];
    }),
    ...lines.map((value) => {
      const at = x(value).toFixed(1);
      return `<line x1="${at}" x2="${at}" y1="${MARGIN.top - 4}" y2="${height - MARGIN.bottom}" stroke="${GOAL_COLOUR}" stroke-dasharray="4 3"/>`;
    }),
    "</svg>",
  ].join("\n")}\n`;
}
