import { join } from "node:path";
import process from "node:process";
import { fileURLToPath, pathToFileURL } from "node:url";

const checkout = fileURLToPath(new URL("../../", import.meta.url));

/** Names the folder of the programs that `writeTestProgram()` bundled. `npm test` sets it. */
export const PROGRAMS_VARIABLE = "METER_TEST_PROGRAMS";

/** Where the programs have a copy of `meter` for daemons. */
export const DAEMON_FOLDER = "daemon";

/** Returns the file that starts a daemon in a process of its own: a bundle of one file, or the same as `programFile()`. */
export function daemonFile(runtime: string): string {
  const folder = bundlesFor(runtime);
  return folder === undefined ? sourceFile("bin.js") : join(folder, DAEMON_FOLDER, "cli/bin.js");
}

/** Returns the module of a thread of the daemon: a bundle of one file, or undefined for the sources. */
export function bundledThread(name: "proxy-worker.js"): URL | undefined {
  const folder = bundlesFor("node");
  return folder === undefined
    ? undefined
    : pathToFileURL(join(folder, DAEMON_FOLDER, "dist/cli/bundle", name));
}

/**
 * Returns the file that starts a program in a process of its own. Below `npm test`, Node gets the bundled
 * programs; otherwise, and on other runtimes, they run from the sources.
 */
export function programFile(name: "bin.js" | "cloud-bin.js", runtime = "node"): string {
  const folder = bundlesFor(runtime);
  return folder === undefined ? sourceFile(name) : join(folder, "cli", name);
}

/** Returns the file that starts a program from the sources. */
export function sourceFile(name: "bin.js" | "cloud-bin.js"): string {
  return join(checkout, "cli", name);
}

function bundlesFor(runtime: string): string | undefined {
  return runtime === "node" ? process.env[PROGRAMS_VARIABLE] : undefined;
}
