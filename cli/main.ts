import { commandsFor } from "./commands/mod.ts";
import { exitCodeTable } from "./exit-codes.ts";
import { type MainContext, runProgram } from "./run-program.ts";

/** Runs the words of `meter`'s command line and gives the exit code. Never throws. */
export async function main(words: readonly string[], context?: MainContext): Promise<number> {
  return runProgram({ name: "meter", exitCodes: exitCodeTable }, await commandsFor(words), words, context);
}
