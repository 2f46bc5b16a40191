import { spawn } from "node:child_process";
import process from "node:process";
import type { ProgramCall } from "./desktop-command.ts";

/** How long a program may run, in milliseconds. */
const TIMEOUT_MS = 30_000;

/** How long a program may take to end after SIGTERM, in milliseconds. */
const GRACE_MS = 5_000;

/**
 * Runs a program without a shell, input or output. Resolves with null if it exits with 0, otherwise with the reason. Never rejects.
 */
export function runProgram({ file, args, env }: ProgramCall): Promise<string | null> {
  return new Promise((resolve) => {
    try {
      const child = spawn(file, args, {
        env: { ...process.env, ...env },
        stdio: "ignore",
        windowsHide: true,
      });
      // The timer of spawn() itself keeps this process alive, even if the program does not exist.
      let timer = setTimeout(() => {
        child.kill();
        timer = setTimeout(() => child.kill("SIGKILL"), GRACE_MS).unref();
      }, TIMEOUT_MS).unref();
      const end = (problem: string | null) => {
        clearTimeout(timer);
        resolve(problem);
      };
      child.on("error", (error) => end(describeError(error)));
      child.on("exit", (code, signal) => end(code === 0 ? null : `exit ${signal ?? code}`));
      child.unref();
    } catch (cause) {
      resolve(describeError(cause as Error));
    }
  });
}

const describeError = (error: Error) => ("code" in error ? String(error.code) : error.name);
