import { execFile } from "node:child_process";

/** Runs a program and gives its standard output; rejects when it can't be run, takes too long or prints too much. */
export type RunCommand = (program: string, words: readonly string[]) => Promise<string>;

/** After that a lookup has no use any more, in milliseconds. */
const COMMAND_TIMEOUT_MS = 4_000;
const MAX_OUTPUT_BYTES = 16 * 1024 * 1024;

/** Runs a program of the system, without a shell. What it prints counts even if it ends with an error, as `lsof` does. */
export const runCommand: RunCommand = (program, words) =>
  new Promise((resolve, reject) => {
    execFile(
      program,
      [...words],
      { timeout: COMMAND_TIMEOUT_MS, maxBuffer: MAX_OUTPUT_BYTES, windowsHide: true, encoding: "utf8" },
      (error, stdout) => (error !== null && stdout === "" ? reject(error) : resolve(stdout)),
    );
  });
