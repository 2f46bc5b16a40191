/**
 * Runs test files in the given order, each in a process of its own: `node --test` sorts them by name, so that a long one can
 * come last while the other processors are idle. The arguments are `--concurrency`, `--timeout` (milliseconds,
 * of a test and of a file), `--names` (a pattern) and the files.
 *
 * `node:test` limits only the tests of a file. It waits for a file that computes without end, and for every process that
 * holds the output of a file open. Here such a file ends, and is named.
 */
import type { ChildProcess } from "node:child_process";
import { subscribe } from "node:diagnostics_channel";
import process from "node:process";
import { run } from "node:test";
import { spec } from "node:test/reporters";
import { parseArgs } from "node:util";
import { killTree } from "./run-command.ts";

/** A file gets this much more time than its tests, so that a test that exceeds the limit is reported. In milliseconds. */
const REPORT_MS = 10_000;
/** How long processes may hold the output of a file open after its own process has exited, in milliseconds. */
const OPEN_OUTPUT_MS = 30_000;
/** Does not optimise WebAssembly: an embedded database that runs for seconds saves less CPU time than the compiler takes. */
const WEBASSEMBLY = "--liftoff-only";
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
    WEBASSEMBLY,
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
