import { accessSync, constants, realpathSync } from "node:fs";
import process from "node:process";
import { setsMemoryLimits, withMemoryLimits } from "../../../core/operations/install/memory-limits.ts";
import { programFile } from "../../daemon/daemon-process.ts";

/**
 * Replaces the program in this process by itself with the daemon's memory limits, which a C library and V8 read only at the
 * start. Process id, terminal, signals and exit code stay the same (`execve(2)`). Returns without doing so if any limit is
 * set already, on a system or runtime without execve, and with socket activation, because Node closes the passed socket.
 */
export function restartWithMemoryLimits(): void {
  const { env, execPath, execArgv, argv } = process;
  if (typeof process.execve !== "function" || process.platform === "win32") return;
  if ("Deno" in globalThis || "Bun" in globalThis) return;
  if (setsMemoryLimits(env) || env.LISTEN_FDS !== undefined || !isOwnProcess()) return;
  try {
    // Node aborts if the program can't be executed.
    accessSync(execPath, constants.X_OK);
  } catch {
    return;
  }
  process.execve(execPath, [execPath, ...execArgv, ...argv.slice(1)], withMemoryLimits(env));
}

/** Whether this process runs the command line, and not another program that calls it as a function. */
function isOwnProcess(): boolean {
  try {
    return realpathSync(process.argv[1] ?? "") === realpathSync(programFile);
  } catch {
    return false;
  }
}
