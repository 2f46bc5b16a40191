import type { CommandContext } from "../program/command-context.ts";
import { runProgram } from "../program/run-program.ts";

/** Runs `meter import` for a home, as a part of another command. Returns its exit code. */
export async function runImport({ stdout, stderr, env }: CommandContext, home: string): Promise<number> {
  const commands = Object.values(await import("./import/import-commands.ts"));
  const streams = { stdout, stderr, env: { ...env, METER_HOME: home } };
  return await runProgram({ name: "meter", exitCodes: [] }, commands, ["import"], streams);
}
