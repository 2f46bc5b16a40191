// `npm run coverage`: runs the tests of `core/` and the conformance suite, and fails unless they cover every line, branch and
// function. Prints each uncovered place, because the table of `node --test` shows no branches. A file of `core/` that no test
// loads counts as uncovered, unless it contains only types. Properties run with a fixed seed, so that equal code gives equal coverage.
import { spawnSync } from "node:child_process";
import { globSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { stripTypeScriptTypes } from "node:module";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";

process.chdir(fileURLToPath(new URL("..", import.meta.url)));
const folder = mkdtempSync(join(tmpdir(), "meter-coverage-"));
const lcovFile = join(folder, "lcov.info");
try {
  const { status } = spawnSync(
    process.execPath,
    [
      "--import=./tools/fixed-seed.ts",
      "--test",
      // Node's default leaves one processor idle.
      `--test-concurrency=${availableParallelism()}`,
      "--experimental-test-coverage",
      "--test-coverage-include=core/**",
      "--test-reporter=dot",
      "--test-reporter-destination=stdout",
      "--test-reporter=lcov",
      `--test-reporter-destination=${lcovFile}`,
      "tests/core/**/*.test.ts",
      // These test the readers of usage, with whole responses.
      "tests/conformance/*.test.ts",
    ],
    { stdio: "inherit" },
  );
  const { loaded, missed } = readLcov(readFileSync(lcovFile, "utf8"));
  const unloaded = globSync("core/**/*.ts")
    .map((file) => file.replaceAll("\\", "/"))
    .filter((file) => !file.endsWith(".d.ts") && !loaded.has(file) && hasCode(file));
  const places = [...missed, ...unloaded.map((file) => `${file}: no test loads it`)];
  for (const place of places) process.stdout.write(`\n${place}`);
  const complete = loaded.size > 0 && places.length === 0;
  process.stdout.write(
    complete
      ? `\nAll lines, branches and functions of the ${loaded.size} files of core/ are covered.\n`
      : "\ncore/ is not fully covered.\n",
  );
  process.exitCode = complete && status === 0 ? 0 : 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}

/** Parses an lcov file: the files that were loaded, and the uncovered places in them. */
function readLcov(lcov: string): { loaded: Set<string>; missed: string[] } {
  const loaded = new Set<string>();
  const missed: string[] = [];
  let file = "";
  for (const line of lcov.split("\n")) {
    const [, key = "", rest = ""] = /^([A-Z]+):(.*)$/.exec(line) ?? [];
    const values = rest.split(",");
    if (key === "SF") {
      file = rest.replaceAll("\\", "/");
      loaded.add(file);
    } else if (key === "DA" && values[1] === "0") missed.push(`${file}:${values[0]}: line`);
    else if (key === "BRDA" && values[3] === "0") missed.push(`${file}:${values[0]}: branch`);
    else if (key === "FNDA" && values[0] === "0") missed.push(`${file}: function ${values[1]}`);
  }
  return { loaded, missed };
}

/** Whether a file has code besides types, comments and re-exports. */
function hasCode(file: string): boolean {
  const code = stripTypeScriptTypes(readFileSync(file, "utf8"));
  return /\S/.test(
    code.replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*$|^\s*(import|export)\b[^;]*from[^;]*;|export\s*\{\s*\};?/gm, ""),
  );
}
