/** The resident memory and the open descriptors at a time after the start. */
export interface Sample {
  readonly seconds: number;
  readonly mib: number;
  readonly descriptors: number;
}

/** When a workload ran, in seconds after the start. */
export interface Span {
  readonly name: string;
  readonly from: number;
  readonly to: number;
}

const WIDTH = 900;
const HEIGHT = 320;
const MARGIN = { left: 48, right: 48, top: 32, bottom: 56 };
/** The colours of the workloads, in the order of their first run. */
const COLOURS = ["#dbeafe", "#dcfce7", "#fef3c7", "#fee2e2", "#ede9fe"];

/** Draws memory (left scale) and descriptors (right scale) over time as SVG, over bands that show which workload ran when. */
export function drawMemory(samples: readonly Sample[], spans: readonly Span[], title: string): string {
  const end = Math.max(60, ...samples.map(({ seconds }) => seconds));
  const top = Math.ceil(Math.max(100, ...samples.map(({ mib }) => mib)) / 50) * 50;
  const x = (seconds: number) =>
    (MARGIN.left + (seconds / end) * (WIDTH - MARGIN.left - MARGIN.right)).toFixed(1);
  const mostOpen = Math.ceil(Math.max(50, ...samples.map(({ descriptors }) => descriptors)) / 50) * 50;
  const heightOf = (share: number) =>
    (HEIGHT - MARGIN.bottom - share * (HEIGHT - MARGIN.top - MARGIN.bottom)).toFixed(1);
  const y = (mib: number) => heightOf(mib / top);
  const line = (colour: string, height: (sample: Sample) => string) =>
    `<polyline fill="none" stroke="${colour}" stroke-width="1.5" points="${samples.map((sample) => `${x(sample.seconds)},${height(sample)}`).join(" ")}"/>`;
  const names = [...new Set(spans.map(({ name }) => name))];
  const colour = (name: string) => COLOURS[names.indexOf(name) % COLOURS.length];
  const text = (left: number | string, at: number | string, anchor: string, words: string) =>
    `<text x="${left}" y="${at}" text-anchor="${anchor}">${words}</text>`;
  const floor = HEIGHT - MARGIN.bottom;
  const stepMinutes = Math.max(1, Math.round(end / 60 / 10));
  const minutes = Array.from({ length: Math.floor(end / 60 / stepMinutes) + 1 }, (_, n) => n * stepMinutes);
  const levels = Array.from({ length: top / 50 + 1 }, (_, n) => n * 50);
  return `${[
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" font-family="sans-serif" font-size="12" role="img" aria-label="${title}">`,
    `<rect width="${WIDTH}" height="${HEIGHT}" fill="#fff"/>`,
    text(MARGIN.left, 18, "start", title),
    ...spans.map(
      ({ name, from, to }) =>
        `<rect x="${x(from)}" y="${MARGIN.top}" width="${(Number(x(to)) - Number(x(from))).toFixed(1)}" height="${floor - MARGIN.top}" fill="${colour(name)}"/>`,
    ),
    ...levels.flatMap((mib) => [
      `<line x1="${MARGIN.left}" x2="${WIDTH - MARGIN.right}" y1="${y(mib)}" y2="${y(mib)}" stroke="#d4d4d4"/>`,
      text(MARGIN.left - 6, Number(y(mib)) + 4, "end", String(mib)),
    ]),
    ...minutes.map((minute) => text(x(minute * 60), floor + 16, "middle", String(minute))),
    ...[0, mostOpen / 2, mostOpen].map((open) =>
      text(WIDTH - MARGIN.right + 6, Number(heightOf(open / mostOpen)) + 4, "start", String(open)),
    ),
    line("#c2410c", ({ descriptors }) => heightOf(descriptors / mostOpen)),
    line("#1d4ed8", ({ mib }) => y(mib)),
    ...names.flatMap((name, n) => [
      `<rect x="${MARGIN.left + n * 130}" y="${HEIGHT - 24}" width="12" height="12" fill="${colour(name)}" stroke="#a3a3a3"/>`,
      text(MARGIN.left + n * 130 + 18, HEIGHT - 14, "start", name),
    ]),
    "</svg>",
  ].join("\n")}\n`;
}
