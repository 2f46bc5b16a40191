/**
 * Runs the tests: `npm test`, `npm run test:quick`, `test:deno`, `test:bun`. A small test file spends most of its time
 * starting a process, its imports and its database. So files that start no processes run together in a few processes,
 * compiled code is cached, and one PostgreSQL serves all of them. To run a single file: `node --test FILE`.
 */
import { globSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath, pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { migratedSnapshot, startMigrated } from "../tests/cloud/kit/engines.ts";
import { missingPostgres } from "../tests/cloud/kit/postgres-server.ts";
import { findProgram, installPackages } from "./packages.ts";
import { runCommand } from "./run-command.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const cache = join(root, "node_modules/.cache/meter-tests");
const MINUTE_MS = 60_000;

/** Number of test files that run at a time. Many of them mostly wait. */
const CONCURRENCY = 3;
/** Time limit of a test, and of a file or bundle. */
const TEST_TIMEOUT_MS = 15 * MINUTE_MS;

/** Files that start no process, database server or browser, and do not change their process. */
const UNITS = [
  "tests/core/**/*.test.ts",
  "tests/conformance/*.test.ts",
  "tests/daemon/{capture,page,store}/*.test.ts",
  "tests/pages/*.test.ts",
  "tests/adapters/{clock,content-decoder,crypto,driver,files,memory,metrics,token-counter}/*.test.ts",
];
/** Files that use databases but start no other process. */
const DATABASE_TESTS = ["tests/cloud/**/*.test.ts"];
/** Not bundled: files that start processes or browsers, or crash their server. */
const SEPARATE = [
  "tests/core/operations/install/written-files.test.ts",
  "tests/cloud/{failures,matrix}.test.ts",
  "tests/cloud/pages/{browser,hostile,oidc-process,people-browser}.test.ts",
  "tests/cloud/{http,purge}/*.test.ts",
];

/** Folders that do not use a runtime's sockets. */
const PORTABLE = [
  ...["core", "daemon/store"],
  ...["sqlite", "driver", "clock", "memory", "content-decoder"].map((folder) => `adapters/${folder}`),
];
const ON_DENO_WITH_DATABASE = [
  ...["adapters/postgres", "adapters/accounts", "cloud/*.test.ts"],
  ...["access", "api", "http", "limits", "purge", "routes", "store"].map((room) => `cloud/${room}`),
];

/** Files with tests that run on Node and start Deno or Bun. `npm test` leaves those tests out where these are not installed. */
const NEEDING_RUNTIMES = [
  "tests/adapters/certificates/forged-leaves.test.ts",
  "tests/cli/meter-cloud/processes.test.ts",
  "tests/examples/deno-serve.test.ts",
];

const separate = new Set(find(SEPARATE));
const units = find(UNITS).filter((file) => !separate.has(file));
const databaseTests = find(DATABASE_TESTS).filter((file) => !separate.has(file));

const { values: options } = parseArgs({
  options: { quick: { type: "boolean", default: false }, runtime: { type: "string", default: "node" } },
});
process.chdir(root);
const started = performance.now();
const failure = await run();
const seconds = ((performance.now() - started) / 1000).toFixed(1);
process.stdout.write(
  failure === null ? `\ntests: ok, ${seconds} s\n` : `\ntests: ${failure}, ${seconds} s\n`,
);
process.exitCode = failure === null ? 0 : 1;

async function run(): Promise<string | null> {
  if (options.quick) return await runAll([[nodeTest(2, bundle("units", units, 2)), 5]]);
  if (options.runtime === "node") installPackages("examples/demo", "tools/build");
  else installPackages("examples/demo", "tools/checks");
  const server = missingPostgres() === null ? await startMigrated() : null;
  await migratedSnapshot();
  if (server !== null) process.env.METER_TEST_POSTGRES_PORT = new URL(server.url("postgres")).port;
  try {
    if (options.runtime === "node") return await runAll([[nodeTest(CONCURRENCY, allNodeTests()), 40]]);
    if (options.runtime === "deno") return await runAll(denoCommands());
    if (options.runtime === "bun") return await runAll(bunCommands());
    throw new RangeError(`unknown runtime: ${options.runtime}`);
  } finally {
    await server?.stop();
  }
}

/** Runs commands one after another, each with a limit in minutes. Returns the first failure, or null. */
async function runAll(commands: readonly (readonly [command: string, minutes: number])[]) {
  const env = { NODE_COMPILE_CACHE: join(cache, "compiled") };
  for (const [command, minutes] of commands) {
    const { reason } = await runCommand(command, minutes * MINUTE_MS, env);
    if (reason !== null) return `failed: ${reason}`;
  }
  return null;
}

function nodeTest(concurrency: number, files: readonly string[], names = ""): string {
  const named = names === "" ? "" : ` --test-name-pattern=${JSON.stringify(names)}`;
  const flags = `--test --test-force-exit --test-timeout=${TEST_TIMEOUT_MS} --test-concurrency=${concurrency}${named}`;
  return `node ${flags} ${files.map((file) => JSON.stringify(file)).join(" ")}`;
}

function allNodeTests(): string[] {
  const bundled = new Set([...units, ...databaseTests]);
  const others = find(["tests/**/*.test.ts"]).filter((file) => !bundled.has(file));
  return [...bundle("units", units, 2), ...bundle("database", databaseTests, 4), ...others];
}

/** Writes files that import the test files in turn, and returns their paths. */
function bundle(name: string, files: readonly string[], count: number): string[] {
  const folder = join(cache, "bundles", name);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  return Array.from({ length: count }, (_, index) => {
    const path = join(folder, `${name}-${index + 1}.test.mjs`);
    const part = files.filter((_, at) => at % count === index);
    writeFileSync(
      path,
      part.map((file) => `import ${JSON.stringify(pathToFileURL(join(root, file)).href)};\n`).join(""),
    );
    return path;
  });
}

/** The program for a shell. */
function pathOf(runtime: "bun" | "deno"): string {
  const path = findProgram(runtime);
  if (path === null) throw new Error(`${runtime} has no package for this platform`);
  return JSON.stringify(path);
}

function portableFolders(prefix: string): string {
  return PORTABLE.map((folder) => `${prefix}tests/${folder}`).join(" ");
}

function denoCommands(): [string, number][] {
  const deno = `DENO_JOBS=2 ${pathOf("deno")} test -A --no-check --quiet --parallel`;
  return [
    [`${deno} ${portableFolders("")}`, 10],
    [`${deno} ${ON_DENO_WITH_DATABASE.map((path) => `tests/${path}`).join(" ")}`, 15],
    ["METER_TEST_RUNTIME=deno npm run --silent test:daemon", 12],
    [nodeTest(1, NEEDING_RUNTIMES, "on Deno|deno serve"), 5],
  ];
}

function bunCommands(): [string, number][] {
  return [
    [`${pathOf("bun")} test --timeout 30000 ${portableFolders("./")}`, 10],
    ["METER_TEST_RUNTIME=bun npm run --silent test:daemon", 12],
    [nodeTest(1, NEEDING_RUNTIMES, "on Bun"), 5],
  ];
}

function find(patterns: readonly string[]): string[] {
  return globSync([...patterns], { cwd: root })
    .map((file) => file.replaceAll("\\", "/"))
    .sort();
}
