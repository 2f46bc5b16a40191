import { execFile } from "node:child_process";
import process from "node:process";

/** The result of running a program. */
interface ProgramResult {
  /** Null if it could not be run, or was killed. */
  readonly code: number | null;
  /** Whether it was killed because it exceeded its time limit. */
  readonly isTimedOut: boolean;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a system program without a shell. Never rejects. */
export type RunProgram = (
  words: readonly string[],
  options?: { readonly timeoutMs?: number },
) => Promise<ProgramResult>;

/** Time limit of a command, in milliseconds. Long, because a person may have to type a password. */
const COMMAND_TIMEOUT_MS = 120_000;
const MAX_OUTPUT_BYTES = 4 * 1024 * 1024;

/** Creates a `RunProgram` with the given variables and the locale `C`, so that output can be parsed. */
export function createProgramRunner(
  env: Readonly<Record<string, string | undefined>> = process.env,
): RunProgram {
  return ([program = "", ...words], { timeoutMs = COMMAND_TIMEOUT_MS } = {}) =>
    new Promise((resolve) => {
      execFile(
        program,
        words,
        {
          timeout: timeoutMs,
          killSignal: "SIGKILL",
          maxBuffer: MAX_OUTPUT_BYTES,
          windowsHide: true,
          encoding: "utf8",
          env: { ...env, LC_ALL: "C" },
        },
        (error, stdout, stderr) => {
          const code = error === null ? 0 : typeof error.code === "number" ? error.code : null;
          resolve({
            code,
            // A program that printed too much is killed too, with a code of Node's.
            isTimedOut: error?.killed === true && typeof error.code !== "string",
            stdout,
            stderr: stderr === "" && code === null ? String(error?.message) : stderr,
          });
        },
      ).stdin?.end();
    });
}
