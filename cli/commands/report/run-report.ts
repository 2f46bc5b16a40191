import { meterProgram } from "../../program/meter-program.ts";
import { type MainContext, runProgram } from "../../program/run-program.ts";
import { ReportCommand } from "./report-command.ts";

/** Runs a command line that starts with `report`, as `main()` does. Node loads this as one file instead of many. */
export async function main(words: readonly string[], context?: MainContext): Promise<number> {
  return runProgram(meterProgram, [ReportCommand], words, context);
}
