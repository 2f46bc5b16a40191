/**
 * Runs the tests: `npm test`, `npm run test:quick`, `test:faults`, `test:browser`, `test:deno`, `test:bun`. To run a single file:
 * `node --test FILE`.
 *
 * A small test file takes most of its time to start a process, load its imports and open its database. To save that time:
 * - Files that start no daemon, cloud or browser are bundled: a few processes load all of them, each file as a suite. So are short files of
 *   `tests/end-to-end` and `tests/cli` that start daemons. Every other file runs in a process of its own.
 * - One PostgreSQL serves all files. Compiled code is cached.
 * - Tests that start `meter` or `meter-cloud` start a bundled program (`test-program.ts`).
 * - Temporary files are in memory if enough of it is free (`memory-folder.ts`).
 * - Promises are not tracked (`untracked-promises.ts`).
 *
 * A new test file is found without an entry here. CONTRIBUTING.md says which files belong in one of the lists below.
 */
import { globSync, mkdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { migratedSnapshot, startMigrated } from "../tests/cloud/kit/engines.ts";
import { missingPostgres, SAVED_VARIABLE } from "../tests/cloud/kit/postgres-server.ts";
import { PROGRAMS_VARIABLE } from "../tests/end-to-end/program-file.rig.ts";
import { createMemoryFolder } from "./memory-folder.ts";
import { findProgram, installPackages } from "./packages.ts";
import { STATEMENT_BUNDLE } from "./reached-statements.ts";
import { runCommand } from "./run-command.ts";
import { RECORD_FOLDER, startRecord, statementSuites, TEST_CACHE } from "./statement-record.ts";
import { writeTestProgram } from "./test-program.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const MINUTE_MS = 60_000;

/** Number of test files that run at a time: twice the processors of a small machine, because many files mostly wait. */
const CONCURRENCY = 4;
/** Long runs of properties, as in `npm run nightly`, get several times as long. */
const LIMIT_FACTOR = process.env.METER_PROPERTY_RUNS === undefined ? 1 : 4;
/** Time limit of a test, and of a file or bundle. The longest takes two minutes of CPU time. */
const TEST_TIMEOUT_MS = 12 * MINUTE_MS * LIMIT_FACTOR;
/** Time limit of a part of the tests on Node. */
const RUN_MINUTES = 40 * LIMIT_FACTOR;

/** Files that start no process, database server or browser, and do not change their own process, such as its working directory. */
const UNITS = [
  "tests/core/**/*.test.ts",
  "tests/conformance/*.test.ts",
  "tests/daemon/{capture,page,store}/*.test.ts",
  "tests/pages/**/*.test.ts",
  "tests/adapters/{clock,content-decoder,crypto,driver,files,memory,metrics,token-counter}/*.test.ts",
];
/** Files that use databases but start no other process. */
const DATABASE_TESTS = ["tests/cloud/**/*.test.ts", "tests/adapters/{accounts,postgres}/*.test.ts"];
/** Files that start no daemon, cloud or browser, but may run a short command, or change their own process during a test. */
const SHORT = ["tests/{adapters,cli,daemon,docs,examples,simulation,tools}/**/*.test.ts"];
/** Files that start one or two daemons each. They are bundled because starting a process takes a sixth of such a file's CPU time. */
const SMALL_END_TO_END = [
  "tests/end-to-end/{agents,bad-input,beyond-this-machine,body-capture,client-aborts,coverage,estimates,exactness}.test.ts",
  "tests/end-to-end/{killed-daemon,large-requests,limits,loopback-api,lost-credentials,many-connections}.test.ts",
  "tests/end-to-end/{refused-clients,restart,shell-variables,socket-activation,start-meter,stubborn-clients}.test.ts",
  "tests/end-to-end/{transparency,unlisted-hosts,webhooks,websocket}.test.ts",
  "tests/cli/{cloud/edited-config,daemon/other-loopback,install/self-test}.test.ts",
  "tests/cli/commands/start/restart-with-memory-limits.test.ts",
];
/** Not bundled: files that start daemons, clouds or browsers, crash their server, or need a process of their own. */
const SEPARATE = [
  "tests/adapters/threads/collect-at-rest.test.ts",
  "tests/cli/{compile-cache,load-bundle,start-up}.test.ts",
  "tests/cli/commands/{doctor,init}/{doctor,init}.test.ts",
  "tests/cli/commands/lifecycle.test.ts",
  "tests/cli/install/systemd.test.ts",
  "tests/cli/meter-cloud/{control-channel,long-backup,processes}.test.ts",
  "tests/core/operations/install/written-files.test.ts",
  "tests/examples/deno-serve.test.ts",
  "tests/tools/own-node.test.ts",
  "tests/cloud/{failures,matrix}.test.ts",
  "tests/cloud/erasure/erased-copies.test.ts",
  "tests/cloud/pages/{*browser,curl-commands,hostile,oidc-process}.test.ts",
  "tests/cloud/purge/*.test.ts",
];

/** Files that break a process, a disk, a database, the clock or the power under a running meter, or restore a backup: `npm run test:faults`. */
const FAULTS = [
  "tests/end-to-end/{broken-metering,budget-chaos,cloud-chaos,crashes,hung-daemon,kills,power-loss}.test.ts",
  "tests/end-to-end/{faults-database,faults-disk,faults-machine,faults-process}.test.ts",
  "tests/end-to-end/{relay-fuzz,restore,start-failures}.test.ts",
  "tests/cli/install/systemd.test.ts",
  "tests/cli/meter-cloud/processes.test.ts",
];
/** Rules about the tree itself, a step of their own in `npm run check`. */
const RULES = ["tests/project/*.test.ts"];
/** Files that open pages in a browser: `npm run test:browser`. */
const BROWSER = ["tests/browser/*.test.ts", "tests/cloud/pages/{*browser,hostile}.test.ts"];

/** The slowest files that are not bundled, slowest first. If one of them started last, the other processors would be idle. */
const FIRST = [
  // Of `npm test`.
  ...["end-to-end/cloud-scripted", "cli/commands/doctor/doctor", "end-to-end/demo", "end-to-end/canary"],
  ...["cloud/matrix", "end-to-end/cloud-real", "end-to-end/attribution", "end-to-end/added-hosts"],
  ...["end-to-end/fleet-budgets", "cloud/purge/purge"],
  "cli/commands/lifecycle",
  // Of `npm run test:faults`.
  "cli/meter-cloud/processes",
  ...["power-loss", "restore", "cloud-chaos", "faults-machine", "faults-database"].map(
    (name) => `end-to-end/${name}`,
  ),
  // Of `npm run test:browser`.
  ...["browser/all-pages-cloud", "browser/all-pages-local", "cloud/pages/dashboard-browser"],
].map((name) => `tests/${name}.test.ts`);

/**
 * Bundled files that load a module with a top-level `await`. `require` refuses such a module, so a bundle imports these files, and they
 * do not become suites. They must have no hooks outside their own suites, or these would run for the whole bundle.
 */
const AWAITING = [
  "tests/core/pricing/{bundled-rates,sources/known-differences}.test.ts",
  "tests/cli/{main,program/help}.test.ts",
  "tests/docs/cli.test.ts",
  "tests/cloud/store/moves-on-a-cluster.test.ts",
];

/**
 * Works around two faults of `--test-force-exit`. It can end a process before the last results are written, so the last hook waits until
 * they are. And it never ends a process whose event loop is empty while a test runs, for example while the test waits for an unreferenced
 * child process, so a timer keeps the loop busy.
 */
const BUNDLE_START = [
  'import { createRequire } from "node:module";',
  'import process from "node:process";',
  'import { after, describe } from "node:test";',
  "const require = createRequire(import.meta.url);",
  "const alive = setInterval(() => {}, 60_000);",
  "after(() => clearInterval(alive));",
  'after(() => new Promise((resolve) => setImmediate(() => process.stdout.write("", resolve))));',
];

/** Folders that do not use a runtime's sockets. */
const PORTABLE = [
  ...["core", "daemon/store"],
  ...["sqlite", "driver", "clock", "memory", "content-decoder"].map((folder) => `adapters/${folder}`),
];
const ON_DENO_WITH_DATABASE = [
  ...["adapters/postgres", "adapters/accounts", "cloud/*.test.ts"],
  ...["access", "api", "backup", "budgets", "erasure", "http", "ledger", "limits", "purge", "routes"].map(
    (room) => `cloud/${room}`,
  ),
  ...["store", "summaries"].map((room) => `cloud/${room}`),
  ...["budgets/fleet-overshoot", "cloud/coverage-sync", "cloud/limit-sync", "cloud/real-cloud"].map(
    (name) => `daemon/${name}.test.ts`,
  ),
];

/** Files with tests that run on Node and start Deno or Bun. `npm test` leaves those tests out where these are not installed. */
const NEEDING_RUNTIMES = [
  "tests/adapters/certificates/forged-leaves.test.ts",
  "tests/cli/meter-cloud/processes.test.ts",
  "tests/examples/deno-serve.test.ts",
];

/** Files all of whose tests start Deno. Only `npm run test:deno` runs them. */
const DENO_ONLY = ["tests/examples/deno-serve.test.ts"];

const separate = new Set(find(SEPARATE));
const awaiting = new Set(find(AWAITING));
const units = find(UNITS).filter((file) => !separate.has(file));
const databaseTests = find(DATABASE_TESTS).filter((file) => !separate.has(file));
const smallEndToEnd = find(SMALL_END_TO_END);
const longer = new Set([...separate, ...units, ...databaseTests, ...smallEndToEnd]);
const recorded = new Set(statementSuites());
const short = find(SHORT).filter((file) => !longer.has(file));

const { values: options } = parseArgs({
  options: {
    quick: { type: "boolean", default: false },
    runtime: { type: "string", default: "node" },
    part: { type: "string", default: "main" },
  },
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
  process.env[SAVED_VARIABLE] = tmpdir();
  const memory = createMemoryFolder();
  if (memory !== null) process.env.TMPDIR = memory;
  if (options.quick) return await runAll([[nodeTest(2, bundle("units", units, 2)), 5]]);
  if (options.runtime === "node") {
    await installPackages("examples/demo", "tools/build");
  } else {
    await installPackages("examples/demo", "tools/checks");
  }
  const [programs, server] = await Promise.all([
    options.runtime === "node" ? writeTestProgram(root, join(TEST_CACHE, "programs")) : null,
    missingPostgres() === null ? startMigrated() : null,
    migratedSnapshot(),
  ]);
  if (programs !== null) process.env[PROGRAMS_VARIABLE] = programs;
  if (server !== null) process.env.METER_TEST_POSTGRES_PORT = new URL(server.url("postgres")).port;
  try {
    if (options.runtime === "node") return await runOnNode(options.part, server !== null);
    if (options.runtime === "deno") return await runAll(denoCommands());
    if (options.runtime === "bun") return await runAll(bunCommands());
    throw new RangeError(`unknown runtime: ${options.runtime}`);
  } finally {
    await server?.stop();
  }
}

/** Runs a part of the tests on Node. If `main` passes on PostgreSQL, it leaves the record of the cloud's statements for `check:statements`. */
async function runOnNode(part: string, isOnPostgres: boolean): Promise<string | null> {
  const runFiles = (files: readonly string[]) => runAll([[nodeTest(CONCURRENCY, files), RUN_MINUTES]]);
  if (part === "faults") return await runFiles(longestFirst(FAULTS));
  if (part === "browser") return await runFiles(longestFirst(BROWSER));
  if (part !== "main") throw new RangeError(`unknown part: ${part}`);
  const finish = startRecord(RECORD_FOLDER);
  process.env.METER_TEST_STATEMENTS = RECORD_FOLDER;
  const failure = await runFiles(mainTests());
  if (failure === null && isOnPostgres) finish();
  return failure;
}

/** Runs commands one after another, each with a limit in minutes. Returns the first failure, or null. */
async function runAll(commands: readonly (readonly [command: string, minutes: number])[]) {
  const env = { NODE_COMPILE_CACHE: join(TEST_CACHE, "compiled") };
  for (const [command, minutes] of commands) {
    const { reason } = await runCommand(command, minutes * MINUTE_MS, env);
    if (reason !== null) return `failed: ${reason}`;
  }
  return null;
}

function nodeTest(concurrency: number, files: readonly string[], names = ""): string {
  const named = names === "" ? "" : ` --names=${JSON.stringify(names)}`;
  const options = `--timeout=${TEST_TIMEOUT_MS} --concurrency=${concurrency}${named}`;
  return `node tools/run-test-files.ts ${options} ${files.map((file) => JSON.stringify(file)).join(" ")}`;
}

function mainTests(): string[] {
  const elsewhere = new Set([
    ...units,
    ...databaseTests,
    ...short,
    ...smallEndToEnd,
    ...find([...FAULTS, ...BROWSER, ...RULES, ...DENO_ONLY]),
  ]);
  const files = longestFirst(["tests/**/*.test.ts"]).filter((file) => !elsewhere.has(file));
  const bundles = [
    ...bundle("units", units, 2),
    ...bundle(
      STATEMENT_BUNDLE.slice(0, -1),
      databaseTests.filter((file) => recorded.has(file)),
      2,
    ),
    ...bundle(
      "database",
      databaseTests.filter((file) => !recorded.has(file)),
      2,
    ),
    ...bundle("short", short, 3),
    ...bundle("end-to-end", smallEndToEnd, 3),
  ];
  // Bundles use a processor all the time, so they alternate with files that mostly wait.
  const alternating = files.flatMap((file, at) => [...bundles.slice(at, at + 1), file]);
  return [...alternating, ...bundles.slice(files.length)];
}

/** Returns the files, those of `FIRST` first, in its order. */
function longestFirst(patterns: readonly string[]): string[] {
  const files = find(patterns);
  return [...FIRST.filter((file) => files.includes(file)), ...files.filter((file) => !FIRST.includes(file))];
}

/**
 * Writes bundles, which load the test files one after another, and returns their paths. Each test file becomes a suite, so that its hooks
 * run for its own tests alone. It is loaded with `require`, because a suite must have its hooks and tests when its function returns.
 */
function bundle(name: string, files: readonly string[], count: number): string[] {
  const folder = join(TEST_CACHE, "bundles", name);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  return divide(files, count).map((part, index) => {
    const path = join(folder, `${name}-${index + 1}.test.mjs`);
    const lines = part.map((file) => {
      const quoted = JSON.stringify(join(root, file));
      if (awaiting.has(file)) return `await import(${quoted});`;
      return `describe(${JSON.stringify(file)}, () => void require(${quoted}));`;
    });
    writeFileSync(path, [...BUNDLE_START, ...lines].join("\n"));
    return path;
  });
}

/** Divides files into parts of about the same size, and so of about the same CPU time. */
function divide(files: readonly string[], count: number): string[][] {
  const sized = files.map((file) => ({ file, bytes: statSync(file).size }));
  const parts = Array.from({ length: count }, () => ({ files: [] as string[], bytes: 0 }));
  for (const { file, bytes } of sized.sort((one, other) => other.bytes - one.bytes)) {
    const smallest = parts.reduce((least, part) => (part.bytes < least.bytes ? part : least));
    smallest.files.push(file);
    smallest.bytes += bytes;
  }
  return parts.map((part) => part.files.sort());
}

/** Returns the path of a runtime's program, quoted for a shell. */
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
    [`${pathOf("bun")} test --timeout 120000 ${portableFolders("./")}`, 10],
    ["METER_TEST_RUNTIME=bun npm run --silent test:daemon", 12],
    [nodeTest(1, NEEDING_RUNTIMES, "on Bun"), 5],
  ];
}

function find(patterns: readonly string[]): string[] {
  return globSync([...patterns], { cwd: root })
    .map((file) => file.replaceAll("\\", "/"))
    .sort();
}
