/** The variable that names a project. Source: decisions, "Daemon". */
export const PROJECT_VARIABLE = "METER_PROJECT";

/** The project among environment entries such as `METER_PROJECT=shop`; the first counts, as in getenv(3). */
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

/** Parents that are looked at: shell, terminal, editor and their helpers are fewer. */
export const MAX_PARENTS = 16;

/** The command lines of a process and its parents, nearest first. */
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
