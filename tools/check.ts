// Runs every check of the project, quick parts first, and stops at the first that fails.
// `--except NAME` leaves a step out (the continuous integration has run the tests by then).
import { spawnSync } from "node:child_process";
import process from "node:process";

const steps: readonly [name: string, command: string][] = [
  ["format and lint", "biome check --error-on-warnings"],
  ["types", "tsc -p tsconfig.json"],
  ["types of core alone", "tsc -p tsconfig.core.json"],
  ["project rules", 'node --test --test-reporter=dot "tests/project/*.test.ts"'],
  ["test", "npm test --silent"],
  ["coverage of core", "npm run --silent coverage"],
  ["test:deno", "npm run --silent test:deno"],
  ["test:bun", "npm run --silent test:bun"],
  ["build", "npm run --silent build"],
  ["package", "npm run --silent check:package"],
];

const except = new Set(
  process.argv.flatMap((word, index, words) => (words[index - 1] === "--except" ? [word] : [])),
);
for (const [name, command] of steps) {
  if (except.has(name)) continue;
  process.stdout.write(`\n── ${name}: ${command}\n`);
  const started = performance.now();
  const { status } = spawnSync(command, { shell: true, stdio: "inherit" });
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  if (status !== 0) {
    process.stderr.write(`\n${name} failed after ${seconds} s\n`);
    process.exit(1);
  }
  process.stdout.write(`── ${name}: ok, ${seconds} s\n`);
}
process.stdout.write("\nall checks passed\n");
