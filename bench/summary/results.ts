// The stored result of a bench, which `npm run bench:summary` draws.
import { mkdirSync, writeFileSync } from "node:fs";
import { cpus, loadavg, totalmem } from "node:os";
import { join } from "node:path";
import process from "node:process";

/** The folder of the files, one for each bench. */
export const RESULTS_FOLDER = join(import.meta.dirname, "../results");

/** One contender's figure. */
export interface Bar {
  readonly name: string;
  readonly value: number;
}

/** A figure of the meter, with those of its peers in the same run. */
export interface Measure {
  readonly title: string;
  /** Such as `ms`; empty for a ratio. */
  readonly unit: string;
  /** The meter's bar comes first. */
  readonly bars: readonly Bar[];
  /** What the goals compare: the meter's figure, or its ratio to the named peer's. All must hold. */
  readonly goals: readonly Goal[];
}

/** A bound, inclusive. */
export interface Goal {
  /** The peer to which a ratio refers; null for the figure itself. */
  readonly peer: string | null;
  readonly most?: number;
  readonly least?: number;
}

/** The result of a bench. */
export interface BenchResult {
  readonly bench: string;
  /** The command that was run. */
  readonly command: string;
  /** ISO 8601, the UTC day. */
  readonly date: string;
  readonly machine: string;
  /** The load average of the last minute before the bench, in processes: other programs were running if it is above 0.5. */
  readonly loadBefore: number;
  readonly measures: readonly Measure[];
}

const [loadAtStart = 0] = loadavg();

/** Writes the result of a bench if it was started with `--json`. */
export function saveResult(bench: string, measures: readonly Measure[]): void {
  if (!process.argv.includes("--json")) return;
  const words = process.argv.slice(2).filter((word) => word !== "--json");
  const gibibytes = Math.round(totalmem() / 2 ** 30);
  const result: BenchResult = {
    bench,
    command: `npm run bench:${bench}${["", ...(words.length > 0 ? ["--", ...words] : [])].join(" ")}`,
    date: new Date().toISOString().slice(0, 10),
    machine: `Node ${process.version}, ${process.platform}, ${cpus().length} × ${cpus()[0]?.model.trim()}, ${gibibytes} GiB`,
    loadBefore: Math.round(loadAtStart * 10) / 10,
    measures: measures.map((measure) => ({
      ...measure,
      bars: measure.bars.map(({ name, value }) => ({ name, value: Number(value.toPrecision(4)) })),
    })),
  };
  mkdirSync(RESULTS_FOLDER, { recursive: true });
  writeFileSync(join(RESULTS_FOLDER, `${bench}.json`), `${JSON.stringify(result, null, 2)}\n`);
}
