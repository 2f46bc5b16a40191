/**
 * Runs test files in the given order, each in its own process. `node --test` would sort them by name, so that a slow one could
 * start last while the other processors are idle. The arguments are `--concurrency`, `--timeout` (milliseconds, for a test and
 * for a file), `--names` (a pattern) and the files.
 *
 * `node:test` has a time limit for the tests of a file, but not for the file: it waits for a file in an endless loop, and for any
 * process that holds the output of a file open. This program ends such a file and names it.
 */
import type { ChildProcess } from "node:child_process";
import { subscribe } from "node:diagnostics_channel";
import process from "node:process";
import { run } from "node:test";
import { spec } from "node:test/reporters";
import { parseArgs } from "node:util";
import { killTree } from "./run-command.ts";

/** How much longer than its tests a file may run, so that a test that exceeds the limit is still reported. In milliseconds. */
const REPORT_MS = 10_000;
/** How long processes may hold the output of a file open after its own process has exited, in milliseconds. */
const OPEN_OUTPUT_MS = 30_000;
/** Turns off the optimising compiler of WebAssembly: for an embedded database that runs for seconds, it takes more CPU time than it saves. */
const NO_WEBASSEMBLY_OPTIMISATION = "--liftoff-only";
/** Sizes of the young generation, in MB. The default one starts small, and collecting it takes a tenth of the tests' CPU time. */
const YOUNG_GENERATION = ["--min-semi-space-size=32", "--max-semi-space-size=64"];

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    concurrency: { type: "string", default: "1" },
    timeout: { type: "string", default: "60000" },
    names: { type: "string" },
  },
});
const limitMs = Number(values.timeout);
subscribe("child_process", (message) => {
  const { process: child } = message as { process: ChildProcess };
  child.once("spawn", () => watchFile(child));
});
run({
  files: positionals,
  concurrency: Number(values.concurrency),
  timeout: limitMs,
  execArgv: [
    "--test-force-exit",
    ...YOUNG_GENERATION,
    NO_WEBASSEMBLY_OPTIMISATION,
    ...["untracked-promises.ts", "record-statements.ts"].flatMap((name) => [
      "--import",
      new URL(name, import.meta.url).href,
    ]),
  ],
  ...(values.names === undefined ? {} : { testNamePatterns: values.names }),
})
  .on("test:fail", () => {
    process.exitCode = 1;
  })
  .compose(spec)
  .pipe(process.stdout);

/** Ends a file that `node:test` started, at its limit or some time after its process has exited. */
function watchFile(child: ChildProcess): void {
  const file = child.spawnargs.at(-1);
  const limit = setTimeout(() => {
    process.stderr.write(`${file}: killed, because it ran longer than ${limitMs / 1000} s\n`);
    killTree(child.pid);
  }, limitMs + REPORT_MS);
  child.once("exit", () => {
    clearTimeout(limit);
    const openOutput = setTimeout(
      () => {
        process.stderr.write(`${file}: failed, because a process that it started holds its output open\n`);
        child.stdout?.destroy();
        child.stderr?.destroy();
      },
      Math.min(OPEN_OUTPUT_MS, limitMs),
    );
    child.once("close", () => clearTimeout(openOutput));
  });
}
