// Restarts a program of a checkout on the Node that `npm ci` installed, if it was started on a Node that is too old. This file
// uses only syntax that an old Node has.
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import process from "node:process";
import { fileURLToPath } from "node:url";

const path =
  process.platform === "win32"
    ? `../node_modules/node-win-${process.arch}/bin/node.exe`
    : "../node_modules/.bin/node";

/** Runs the program with this process's arguments, and exits as it exits. Returns false if the checkout has no Node of its own (yet). */
export function runOnOwnNode(program) {
  const node = fileURLToPath(new URL(path, import.meta.url));
  if (!existsSync(node)) return false;
  const child = spawn(node, [program, ...process.argv.slice(2)], { stdio: "inherit" });
  // A terminal sends Ctrl-C to both processes, but a supervisor signals only this one. The program decides how to respond.
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
