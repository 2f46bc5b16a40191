import { readFileSync, readlinkSync } from "node:fs";
import { basename } from "node:path";
import type { ProcessFacts } from "../../core/ports/process-table.ts";
import { MAX_PARENTS, readEnvironment } from "./process-facts.ts";

/** Runs a file operation. Returns null if it fails because the process has exited or belongs to another user. */
export function attempt<T>(work: () => T): T | null {
  try {
    return work();
  } catch {
    return null;
  }
}

/** Reads a text file; null if it cannot be read. */
export const read = (path: string): string | null => attempt(() => readFileSync(path, "utf8"));
/** Reads the target of a symbolic link; null if it cannot be read. */
export const readLink = (path: string): string | null => attempt(() => readlinkSync(path));

/** What the link of a descriptor that is a socket begins with. The inode and a bracket follow. */
export const SOCKET_PREFIX = "socket:[";

/**
 * Reads the kernel's name of the program, state, parent and start time from `/proc/<pid>/stat`. The name may contain spaces and
 * parentheses.
 */
export function readStat(
  proc: string,
  pid: number,
): { name: string; state: string; parent: number; startTime: string } | null {
  const stat = read(`${proc}/${pid}/stat`);
  if (stat === null) return null;
  // The text after the name begins with field 3, the state; field 4 is the parent, field 22 the start time.
  const nameEnd = stat.lastIndexOf(")");
  const fields = stat.slice(nameEnd + 2).split(" ");
  const name = stat.slice(stat.indexOf("(") + 1, nameEnd);
  return { name, state: fields[0] ?? "", parent: Number(fields[1] ?? 0), startTime: fields[19] ?? "" };
}

/** Reads the working directory of a process; null if it cannot be read. */
export const readCwd = (proc: string, pid: number): string | null =>
  readLink(`${proc}/${pid}/cwd`)?.replace(/ \(deleted\)$/, "") ?? null;

function commandLineOf(proc: string, pid: number): string[] {
  const text = read(`${proc}/${pid}/cmdline`) ?? "";
  return text === "" ? [] : text.replace(/\0$/, "").split("\0");
}

/** Reads what is known about a process. */
export function readFacts(proc: string, pid: number): ProcessFacts {
  const commandLines: string[][] = [];
  for (
    let each = pid;
    each > 1 && commandLines.length <= MAX_PARENTS;
    each = readStat(proc, each)?.parent ?? 0
  ) {
    commandLines.push(commandLineOf(proc, each));
  }
  const program = commandLines[0]?.[0];
  return {
    pid,
    // A program can set its own name here; the kernel's name is truncated to 15 characters.
    processName: program ? basename(program) : (read(`${proc}/${pid}/comm`) ?? "").trim() || null,
    commandLines,
    ...readEnvironment((read(`${proc}/${pid}/environ`) ?? "").split("\0")),
    cwd: readCwd(proc, pid),
  };
}
