/**
 * Runs test files in the given order, each in a process of its own: `node --test` sorts them by name, so that a long one can
 * come last while the other processors are idle. The arguments are `--concurrency`, `--timeout` (milliseconds,
 * of a test and of a file), `--names` (a pattern) and the files.
 */
import process from "node:process";
import { run } from "node:test";
import { spec } from "node:test/reporters";
import { parseArgs } from "node:util";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    concurrency: { type: "string", default: "1" },
    timeout: { type: "string", default: "60000" },
    names: { type: "string" },
  },
});
run({
  files: positionals,
  concurrency: Number(values.concurrency),
  timeout: Number(values.timeout),
  execArgv: ["--test-force-exit", "--import", new URL("untracked-promises.ts", import.meta.url).href],
  ...(values.names === undefined ? {} : { testNamePatterns: values.names }),
})
  .on("test:fail", () => {
    process.exitCode = 1;
  })
  .compose(spec)
  .pipe(process.stdout);
