import process from "node:process";
import { printStatusline } from "./print-statusline.ts";

/** Runs `meter statusline` without the parser of command lines. Returns the exit code, which is always 0. */
export async function main(): Promise<number> {
  process.stdout.on("error", () => {});
  await printStatusline(process);
  return 0;
}
