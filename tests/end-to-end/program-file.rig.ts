import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";

const checkout = fileURLToPath(new URL("../../", import.meta.url));

/** Names the folder of the programs that `writeTestProgram()` bundled. `npm test` sets it. */
export const PROGRAMS_VARIABLE = "METER_TEST_PROGRAMS";

/**
 * Returns the file that starts a program in a process of its own. Below `npm test`, Node gets the bundled
 * programs; otherwise, and on other runtimes, they run from the sources.
 */
export function programFile(name: "bin.js" | "cloud-bin.js", runtime = "node"): string {
  const folder = runtime === "node" ? process.env[PROGRAMS_VARIABLE] : undefined;
  return folder === undefined ? sourceFile(name) : join(folder, "cli", name);
}

/** Returns the file that starts a program from the sources. */
export function sourceFile(name: "bin.js" | "cloud-bin.js"): string {
  return join(checkout, "cli", name);
}
