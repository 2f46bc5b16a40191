import { type MainContext, runProgram } from "../program/run-program.ts";
import { cloudExitCodeTable } from "./cloud-exit-codes.ts";
import { commands } from "./commands/mod.ts";

/** Runs a `meter-cloud` command line and returns the exit code. Never throws. */
export function main(words: readonly string[], context?: MainContext): Promise<number> {
  return runProgram({ name: "meter-cloud", exitCodes: cloudExitCodeTable }, commands, words, context);
}
