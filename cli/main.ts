import { commandsFor } from "./commands/commands-for.ts";
import { meterProgram } from "./program/meter-program.ts";
import { type MainContext, runProgram } from "./program/run-program.ts";

/** Runs a `meter` command line and returns the exit code. Never throws. */
export async function main(words: readonly string[], context?: MainContext): Promise<number> {
  return runProgram(meterProgram, await commandsFor(words), words, context);
}
