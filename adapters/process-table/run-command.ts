import { execFile } from "node:child_process";

/** Runs a program and returns its standard output. Rejects if it cannot be run, takes too long, or prints too much. */
export type RunCommand = (program: string, words: readonly string[]) => Promise<string>;

/** Time limit of a command, in milliseconds. A later result would have no use. */
const COMMAND_TIMEOUT_MS = 4_000;
const MAX_OUTPUT_BYTES = 16 * 1024 * 1024;

/** Runs a system program without a shell. Its output counts even if it exits with an error, as `lsof` does. */
export const runCommand: RunCommand = (program, words) =>
  new Promise((resolve, reject) => {
    execFile(
      program,
      [...words],
      { timeout: COMMAND_TIMEOUT_MS, maxBuffer: MAX_OUTPUT_BYTES, windowsHide: true, encoding: "utf8" },
      (error, stdout) => (error !== null && stdout === "" ? reject(error) : resolve(stdout)),
    );
  });
