import type { Minute } from "./simulate-fleet.ts";

const [WIDTH, HEIGHT] = [900, 420];
const MARGIN = { left: 72, right: 16, top: 34 };
/** The two charts: what is drawn, its axis title, colour, top and height. */
const CHARTS = [
  { field: "sent", title: "batches a minute", colour: "#1d4ed8", top: 56, height: 130 },
  { field: "backlog", title: "records that were not sent yet", colour: "#c2410c", top: 236, height: 130 },
] as const;

/** Draws the batches of each minute and the backlog as SVG, over a band for the outage. */
export function drawFleet(
  minutes: readonly Minute[],
  outage: { readonly from: number; readonly to: number },
  title: string,
): string {
  const x = (minute: number) =>
    MARGIN.left + (minute / minutes.length) * (WIDTH - MARGIN.left - MARGIN.right);
  const [from, to] = [x(outage.from / 60_000), x(outage.to / 60_000)];
  const text = (left: number, at: number, anchor: string, words: string) =>
    `<text x="${left.toFixed(1)}" y="${at}" text-anchor="${anchor}">${words}</text>`;
  const hours = Array.from({ length: Math.floor(minutes.length / 120) + 1 }, (_, n) => n * 2);
  const charts = CHARTS.flatMap(({ field, title: words, colour, top, height }) => {
    const most = Math.max(1, ...minutes.map((minute) => minute[field]));
    const y = (value: number) => top + height - (value / most) * height;
    const points = minutes.map((minute, at) => `${x(at + 0.5).toFixed(1)},${y(minute[field]).toFixed(1)}`);
    return [
      `<rect x="${from.toFixed(1)}" y="${top}" width="${(to - from).toFixed(1)}" height="${height}" fill="#fee2e2"/>`,
      `<line x1="${MARGIN.left}" x2="${WIDTH - MARGIN.right}" y1="${top + height}" y2="${top + height}" stroke="#737373"/>`,
      text(MARGIN.left, top - 8, "start", words),
      text(MARGIN.left - 6, top + 8, "end", most.toLocaleString("en")),
      text(MARGIN.left - 6, top + height, "end", "0"),
      ...hours.map((hour) => text(x(hour * 60), top + height + 16, "middle", String(hour))),
      `<polyline fill="none" stroke="${colour}" stroke-width="1.5" points="${points.join(" ")}"/>`,
    ];
  });
  return `${[
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" font-family="sans-serif" font-size="12" role="img" aria-label="${title}">`,
    `<rect width="${WIDTH}" height="${HEIGHT}" fill="#fff"/>`,
    text(MARGIN.left, MARGIN.top - 14, "start", `${title} (red); hours in UTC`),
    ...charts,
    "</svg>",
  ].join("\n")}\n`;
}
