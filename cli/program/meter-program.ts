import { exitCodeTable } from "./exit-codes.ts";
import type { Program } from "./meter-cli.ts";

/** The program `meter`, as its help and its exit codes describe it. */
export const meterProgram: Program = { name: "meter", exitCodes: exitCodeTable };
