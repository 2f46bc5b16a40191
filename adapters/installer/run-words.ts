import { execFile } from "node:child_process";
import process from "node:process";

/** What a program came to. `code` is null where it could not be run. */
export interface Ran {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a program of the system, without a shell. Never rejects. */
export type RunWords = (words: readonly string[], options?: { readonly timeoutMs?: number }) => Promise<Ran>;

/** A person may have to type a password meanwhile. */
const COMMAND_TIMEOUT_MS = 120_000;
const MAX_OUTPUT_BYTES = 4 * 1024 * 1024;

/** Runs programs with the given variables, the language set to plain English so that their words can be read. */
export function createRunWords(env: Readonly<Record<string, string | undefined>> = process.env): RunWords {
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
          resolve({ code, stdout, stderr: stderr === "" && code === null ? String(error?.message) : stderr });
        },
      ).stdin?.end();
    });
}
