import { CI_VARIABLES, readCiRun } from "../../core/metering/attribution/ci-run.ts";
import type { ProcessFacts } from "../../core/ports/process-table.ts";

/** The variable that names a project. Source: docs/specification.md#attribution. */
const PROJECT_VARIABLE = "METER_PROJECT";

/** The variables that are read. */
const VARIABLES = new Set([PROJECT_VARIABLE, ...CI_VARIABLES]);

/** What the environment of a process states. */
export type EnvironmentFacts = Pick<ProcessFacts, "environmentProject" | "ciRun">;

/** Reads environment entries such as `METER_PROJECT=shop`. The first entry of a variable counts, as in getenv(3). */
export function readEnvironment(entries: readonly string[]): EnvironmentFacts {
  const values = new Map<string, string>();
  for (const entry of entries) {
    const end = entry.indexOf("=");
    const variable = entry.slice(0, end);
    if (VARIABLES.has(variable) && !values.has(variable)) values.set(variable, entry.slice(end + 1));
  }
  return environmentFacts((variable) => values.get(variable));
}

/** Reads what the environment states. `get` returns the value of a variable. */
export function environmentFacts(get: (variable: string) => string | undefined): EnvironmentFacts {
  const ciRun = readCiRun(get);
  return { environmentProject: get(PROJECT_VARIABLE) ?? null, ...(ciRun !== null && { ciRun }) };
}

/** One row of a process table. */
export interface ProcessRow {
  readonly pid: number;
  readonly parent: number;
  readonly words: readonly string[];
}

/** Maximum number of ancestors to read. A shell, terminal, editor and their helpers are fewer. */
export const MAX_PARENTS = 16;

/** Returns the command lines of a process and its ancestors, nearest first. */
export function commandLinesOf(rows: ReadonlyMap<number, ProcessRow>, pid: number): (readonly string[])[] {
  const lines: (readonly string[])[] = [];
  for (
    let row = rows.get(pid);
    row !== undefined && lines.length <= MAX_PARENTS;
    row = rows.get(row.parent)
  ) {
    lines.push(row.words);
    if (row.parent === row.pid) break;
  }
  return lines;
}
