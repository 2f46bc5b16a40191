/** The variable that names a project. Source: docs/specification.md#attribution. */
export const PROJECT_VARIABLE = "METER_PROJECT";

/** Returns the project in environment entries such as `METER_PROJECT=shop`. The first entry counts, as in getenv(3). */
export function projectOf(environment: readonly string[]): string | null {
  const prefix = `${PROJECT_VARIABLE}=`;
  return environment.find((entry) => entry.startsWith(prefix))?.slice(prefix.length) ?? null;
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
