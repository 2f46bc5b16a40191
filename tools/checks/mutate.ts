// Mutation testing of `core/`: changes the sources of each scope in one place at a time and runs only that scope's tests.
// `npm run mutate` runs all scopes, `npm run mutate -- delivery/sync pricing/guard` some folders or files. See
// docs/mutation.md for how to read the figures. Exits with 1 if a scope kills less than MIN_KILLED_PERCENT. Works on a
// copy in the system's folder for temporary files.
import { readdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative, resolve } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { Stryker } from "@stryker-mutator/core";

const MIN_KILLED_PERCENT = 90;

const SCOPES: readonly string[] = [
  ...["sync", "uploader", "pairing", "banner", "retry"].map((name) => `delivery/${name}`),
  ...["supervisor", "watchdog"].map((name) => `operations/${name}`),
  ...["deletion", "retention", "policy", "plans", "consent", "ledger"].map((name) => `privacy/${name}`),
  ...["pricing/reconcile", "pricing", "metering/classify"],
];

/** Tests that take long to detect a fault. They run last, if the faster tests pass. */
const SLOW_TEST = /(model|properties|bundled-rates)\.test\.ts$/;

/** The labels of these scopes' tables are in docs/states.md, which this test compares. */
const DRAWN_SCOPES: readonly string[] = [
  ...["sync", "uploader", "pairing"].map((name) => `delivery/${name}`),
  ...["supervisor", "watchdog"].map((name) => `operations/${name}`),
];
const DRAWN_TEST = "tests/tools/draw-states.test.ts";

process.chdir(fileURLToPath(new URL("../..", import.meta.url)));
// Each mutant needs one process per test file. With cached code, a process starts in half the time. The cache folder is not
// shared, because Node runs the contents of a cache regardless of who wrote it.
process.env.NODE_COMPILE_CACHE ??= resolve("node_modules/.cache/meter-mutate");
const asked = process.argv.slice(2);
const unknown = asked.filter((scope) => folderOf(scope) === undefined);
if (unknown.length > 0) {
  throw new RangeError(`no such scope: ${unknown.join(" ")}. Known scopes: ${SCOPES.join(" ")}`);
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
  if (!(percent >= MIN_KILLED_PERCENT)) enough = false;
}
process.exitCode = enough ? 0 : 1;

/** Returns `pricing` for `pricing/guard`; undefined if the file belongs to no scope. */
function folderOf(scope: string): string | undefined {
  return SCOPES.find((each) => scope === each || scope.startsWith(`${each}/`));
}

function mutate(scope: string) {
  const folder = folderOf(scope) as string;
  const tests = [
    ...readdirSync(`tests/core/${folder}`).map((name) => `tests/core/${folder}/${name}`),
    ...(DRAWN_SCOPES.includes(folder) ? [DRAWN_TEST] : []),
  ]
    .filter((name) => name.endsWith(".test.ts"))
    .sort((a, b) => Number(SLOW_TEST.test(a)) - Number(SLOW_TEST.test(b)));
  return new Stryker({
    // Data files contain facts that other tests compare with their source. mod.ts files only re-export.
    mutate:
      scope === folder
        ? readdirSync(`core/${scope}`)
            .filter((name) => name.endsWith(".ts") && !/^mod\.ts$|\.data\.ts$/.test(name))
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
