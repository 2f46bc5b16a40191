import { drawBars } from "./draw-bars.ts";
import { formatFigure } from "./format-figure.ts";
import type { BenchResult, Goal, Measure } from "./results.ts";

/** The page and its plots, by their paths below `docs/`. */
export type PageFiles = ReadonlyMap<string, string>;

/** The benches in the order of the page. Others follow by name. */
const ORDER = ["proxy", "new-connections", "memory", "soak", "cli", "reports", "sync", "ingest"];

const INTRODUCTION = `# Performance

Written by \`npm run bench:summary\` from [bench/results](../bench/results): do not edit. \`npm run bench:NAME -- --json\` measures again and
stores the result. Each bench measures the meter (blue) and its peers (grey) in one run on one machine; the dashed line is the goal. Compare
the ratios: milliseconds depend on the machine, and on what else runs on it. The load is the system's load average
before the run; above 0.5, other programs were running and times are too long. [bench/README.md](../bench/README.md) says what each bench does.
`;

const rank = ({ bench }: BenchResult) => (ORDER.includes(bench) ? ORDER.indexOf(bench) : ORDER.length);

/** Writes the page from the results of the benches. */
export function writePage(results: readonly BenchResult[]): PageFiles {
  const sorted = results.toSorted(
    (one, other) => rank(one) - rank(other) || (one.bench < other.bench ? -1 : 1),
  );
  const files = new Map<string, string>();
  const sections = sorted.map((result) => {
    const plots = result.measures.map((measure, at) => {
      const path = `performance/${result.bench}-${at + 1}.svg`;
      files.set(path, drawBars(measure));
      return `![${measure.title}](${path})`;
    });
    const { date, machine, loadBefore, command } = result;
    return `## ${result.bench}\n\`${command}\`, ${date}, load ${loadBefore}. ${machine}.\n\n${plots.join("\n\n")}\n`;
  });
  const rows = sorted.flatMap(({ bench, measures }) =>
    measures.map((measure) => `| ${[bench, ...describe(measure)].join(" | ")} |`),
  );
  const missing = ORDER.filter((bench) => !results.some((result) => result.bench === bench));
  const without = missing.map((bench) => `\`${bench}\``).join(", ");
  const table = ["| bench | what | meter | peers | goal | reached |", "|---|---|---|---|---|---|", ...rows];
  files.set(
    "performance.md",
    `${[INTRODUCTION, `${table.join("\n")}\n`, ...(missing.length > 0 ? [`No stored results: ${without}.\n`] : []), ...sections].join("\n")}`,
  );
  return files;
}

function describe({ title, unit, bars, goals }: Measure): string[] {
  const [own, ...peers] = bars;
  const ratio = (value: number) =>
    own === undefined ? "" : ` (${formatFigure(own.value / value, "")} times)`;
  return [
    title,
    own === undefined ? "" : formatFigure(own.value, unit),
    peers.map(({ name, value }) => `${name} ${formatFigure(value, unit)}${ratio(value)}`).join(", "),
    goals.map((goal) => describeGoal(goal, unit)).join(" and "),
    goals.length === 0 ? "" : goals.every((goal) => isReached(goal, bars)) ? "yes" : "no",
  ];
}

function describeGoal({ peer, most, least }: Goal, unit: string): string {
  const [sign, bound] = most === undefined ? ["≥", least ?? 0] : ["≤", most];
  return peer === null ? `${sign} ${bound} ${unit}`.trim() : `${sign} ${bound} times ${peer}`;
}

/** Whether a goal is reached. False if its peer was not measured. */
function isReached({ peer, most, least }: Goal, bars: Measure["bars"]): boolean {
  const own = bars[0]?.value ?? Number.NaN;
  const base = peer === null ? 1 : (bars.find(({ name }) => name === peer)?.value ?? Number.NaN);
  const figure = own / base;
  return figure <= (most ?? Number.POSITIVE_INFINITY) && figure >= (least ?? Number.NEGATIVE_INFINITY);
}
