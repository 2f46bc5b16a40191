import { meterProgram } from "../../program/meter-program.ts";
import { type MainContext, runProgram } from "../../program/run-program.ts";
import { RunCommand } from "./run-command.ts";

/** Runs a command line that starts with `run`, as `main()` does. Node loads this as one file instead of many. */
export async function main(words: readonly string[], context?: MainContext): Promise<number> {
  return runProgram(meterProgram, [RunCommand], words, context);
}
