import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { RunProgram } from "../../../adapters/installer/run-program.ts";

/** Runs the work with a folder that is removed afterwards. */
export async function inFolder<T>(work: (folder: string) => Promise<T> | T): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), "meter-install-"));
  try {
    return await work(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** All files below a folder with mode and bytes, and all folders. */
export function snapshot(folder: string, below = ""): Record<string, string> {
  const found: Record<string, string> = {};
  for (const name of readdirSync(join(folder, below)).sort()) {
    const path = join(below, name);
    const stat = statSync(join(folder, path));
    if (stat.isDirectory()) Object.assign(found, { [path]: "folder" }, snapshot(folder, path));
    else found[path] = `${(stat.mode & 0o777).toString(8)} ${readFileSync(join(folder, path), "latin1")}`;
  }
  return found;
}

/** Answers commands from a script and records what was run. Unknown commands succeed without output. */
export function recordedCommands(
  answers: Readonly<Record<string, { code: number; stdout?: string; stderr?: string }>> = {},
): { run: RunProgram; ran: string[] } {
  const ran: string[] = [];
  return {
    ran,
    run: async (words) => {
      const line = words.join(" ");
      ran.push(line);
      return { code: 0, isTimedOut: false, stdout: "", stderr: "", ...answers[line] };
    },
  };
}
