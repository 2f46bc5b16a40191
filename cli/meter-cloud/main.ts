import { type MainContext, runProgram } from "../run-program.ts";
import { commands } from "./commands/mod.ts";
import { cloudExitCodeTable } from "./exit-codes.ts";

/** Runs the words of `meter-cloud`'s command line and gives the exit code. Never throws. */
export function main(words: readonly string[], context?: MainContext): Promise<number> {
  return runProgram({ name: "meter-cloud", exitCodes: cloudExitCodeTable }, commands, words, context);
}
