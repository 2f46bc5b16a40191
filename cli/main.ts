import { commandsFor } from "./commands/commands-for.ts";
import { exitCodeTable } from "./program/exit-codes.ts";
import { type MainContext, runProgram } from "./program/run-program.ts";

/** Runs a `meter` command line and returns the exit code. Never throws. */
export async function main(words: readonly string[], context?: MainContext): Promise<number> {
  return runProgram({ name: "meter", exitCodes: exitCodeTable }, await commandsFor(words), words, context);
}
