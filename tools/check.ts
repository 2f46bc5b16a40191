// Runs every check of the project, fast ones first, and stops at the first that fails or exceeds its time limit. `--except
// NAME` omits a step, for example the tests that continuous integration has already run.
import process from "node:process";
import { installAllPackages } from "./packages.ts";
import { runCommand } from "./run-command.ts";

/** The limits are many times the usual duration. They end a step that hangs. */
const steps: readonly [name: string, command: string, limitMinutes: number][] = [
  ["format and lint", "node tools/biome.js check --error-on-warnings", 3],
  ["types", "tsc -p tsconfig.json", 5],
  ["types of core alone", "tsc -p tsconfig.core.json", 3],
  ["project rules", 'node --test --test-reporter=dot "tests/project/*.test.ts"', 5],
  ["test", "npm test --silent", 40],
  ["test:browser", "npm run --silent test:browser", 20],
  ["test:faults", "npm run --silent test:faults", 20],
  ["statements of the cloud", "npm run --silent check:statements", 15],
  ["files of deploy/", "npm run --silent check:deploy", 5],
  ["coverage of core", "npm run --silent coverage", 10],
  ["formats of other systems", "npm run --silent check:formats", 5],
  ["test:deno", "npm run --silent test:deno", 25],
  ["test:bun", "npm run --silent test:bun", 15],
  ["build", "npm run --silent build", 5],
  ["package", "npm run --silent check:package", 5],
  ["same package from two builds", "npm run --silent check:reproducible", 5],
];

await installAllPackages();
const except = new Set(
  process.argv.flatMap((word, index, words) => (words[index - 1] === "--except" ? [word] : [])),
);
for (const [name, command, limitMinutes] of steps) {
  if (except.has(name)) continue;
  process.stdout.write(`\n── ${name}: ${command}\n`);
  const { reason, seconds } = await runCommand(command, limitMinutes * 60_000);
  if (reason !== null) {
    process.stderr.write(`\n${name} failed after ${seconds.toFixed(1)} s: ${reason}\n`);
    process.exit(1);
  }
  process.stdout.write(`── ${name}: ok, ${seconds.toFixed(1)} s\n`);
}
process.stdout.write("\nall checks passed\n");
