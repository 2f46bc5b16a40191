import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

/** Runs an example as a person would, and returns the lines that it prints. Rejects if it fails. */
export async function runExample(name: string): Promise<string[]> {
  const path = fileURLToPath(new URL(`../../examples/${name}/main.ts`, import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, [path], { timeout: 30_000 });
  return stdout.trimEnd().split("\n");
}
