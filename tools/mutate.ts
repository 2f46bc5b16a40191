// Mutation testing of `core/`: each scope's sources are changed one place at a time and only that scope's tests run.
// `npm run mutate` takes all scopes, `npm run mutate -- sync pricing/guard` some folders or single files of theirs; how to
// read the figures: docs/mutation.md.
// Ends with 1 when a scope kills less than LEAST_KILLED_PERCENT. Works on a copy in the system's folder for temporary files.
import { readdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { Stryker } from "@stryker-mutator/core";

const LEAST_KILLED_PERCENT = 90;

const SCOPES: readonly string[] = [
  ...["sync", "uploader", "supervisor", "watchdog", "pairing", "banner", "retry"],
  ...["deletion", "pricing", "retention", "policy", "classify", "plans", "reconcile", "consent", "ledger"],
];

/** Tests that take long to see a fault: a mutant meets them last, when the tables have let it pass. */
const SLOW_TEST = /(model|properties|bundled-rates)\.test\.ts$/;

/** The words on the arrows of these scopes' tables stand in docs/states.md, and this test compares the two. */
const DRAWN_SCOPES: readonly string[] = ["sync", "uploader", "supervisor", "watchdog", "pairing"];
const DRAWN_TEST = "tests/tools/draw-states.test.ts";

// Each change is one process for each test file: with its code cached, a process is up in half the time.
process.env.NODE_COMPILE_CACHE ??= join(tmpdir(), "meter-mutate-cache");
process.chdir(fileURLToPath(new URL("..", import.meta.url)));
const asked = process.argv.slice(2);
const unknown = asked.filter((scope) => !SCOPES.includes(folderOf(scope)));
if (unknown.length > 0) {
  throw new RangeError(`no such scope: ${unknown.join(" ")}; known are: ${SCOPES.join(" ")}`);
}

let enough = true;
for (const scope of asked.length > 0 ? asked : SCOPES) {
  const started = performance.now();
  const results = await mutate(scope);
  const found = results.filter(({ status }) => status === "Killed" || status === "Timeout").length;
  const missed = results.filter(({ status }) => status === "Survived" || status === "NoCoverage");
  for (const { fileName, location, mutatorName, replacement, status } of missed) {
    const place = `${relative("", fileName)}:${location.start.line}:${location.start.column}-${location.end.line}:${location.end.column}`;
    process.stdout.write(`${status} ${place} ${mutatorName} → ${replacement?.replaceAll(/\s+/g, " ")}\n`);
  }
  const percent = (100 * found) / (found + missed.length);
  const seconds = ((performance.now() - started) / 1000).toFixed(0);
  process.stdout.write(
    `${scope}: ${found} of ${found + missed.length} killed, ${percent.toFixed(1)}%, ${seconds} s\n\n`,
  );
  if (!(percent >= LEAST_KILLED_PERCENT)) enough = false;
}
process.exitCode = enough ? 0 : 1;

/** `pricing` of `pricing/guard`. */
function folderOf(scope: string): string {
  return scope.split("/", 1)[0] ?? scope;
}

function mutate(scope: string) {
  const folder = folderOf(scope);
  const tests = [
    ...readdirSync(`tests/core/${folder}`).map((name) => `tests/core/${folder}/${name}`),
    ...(DRAWN_SCOPES.includes(folder) ? [DRAWN_TEST] : []),
  ]
    .filter((name) => name.endsWith(".test.ts"))
    .sort((a, b) => Number(SLOW_TEST.test(a)) - Number(SLOW_TEST.test(b)));
  return new Stryker({
    // Data files hold facts that other tests compare with their source; mod.ts only re-exports.
    mutate:
      scope === folder
        ? readdirSync(`core/${scope}`)
            .filter((name) => !/^mod\.ts$|\.data\.ts$/.test(name))
            .map((name) => `core/${scope}/${name}`)
        : [`core/${scope}.ts`],
    ignorePatterns: [
      "/*",
      "!/core",
      "!/adapters",
      "!/tests",
      "/tests/*",
      "!/tests/core",
      "!/tests/tools",
      "!/tools",
      "!/docs",
      "!/package.json",
    ],
    testRunner: "tap",
    plugins: ["@stryker-mutator/tap-runner"],
    tap: {
      testFiles: tests,
      nodeArgs: ["--test-reporter=tap", "-r", "{{hookFile}}", "{{testFile}}"],
      forceBail: true,
    },
    coverageAnalysis: "perTest",
    concurrency: 1,
    disableTypeChecks: false,
    reporters: ["progress-append-only"],
    allowEmpty: false,
    tempDirName: join(tmpdir(), `meter-mutate-${process.pid}`),
    cleanTempDir: "always",
    logLevel: "warn" as never,
  }).runMutationTest();
}
