// A program of a checkout that was started on a Node too old for it goes on, on the Node that `npm ci` has put there. No
// syntax here that an old Node lacks.
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import process from "node:process";
import { fileURLToPath } from "node:url";

const path =
  process.platform === "win32"
    ? `../node_modules/node-win-${process.arch}/bin/node.exe`
    : "../node_modules/.bin/node";

/** Runs the program with this process's words, and ends as it ends; false where the checkout has no Node (yet). */
export function runOnOwnNode(program) {
  const node = fileURLToPath(new URL(path, import.meta.url));
  if (!existsSync(node)) return false;
  const child = spawn(node, [program, ...process.argv.slice(2)], { stdio: "inherit" });
  // A terminal sends Ctrl-C to both, a supervisor its signal to this one alone; the program decides what comes of it.
  process.on("SIGINT", () => {});
  for (const signal of ["SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
  child.on("error", (cause) => {
    process.stderr.write(`${node} can't be started: ${cause.message}\n`);
    process.exitCode = 1;
  });
  child.on("exit", (code, signal) => {
    if (signal === null) process.exitCode = code;
    else {
      process.removeAllListeners(signal);
      process.kill(process.pid, signal);
    }
  });
  return true;
}
