/**
 * `npm run check:statements [test files]`: runs the suites of the cloud on PostgreSQL, parses each statement that the store executes,
 * and checks it and its transaction against the rules of a cluster (`statement-rules.ts`). Fails if a statement breaks a rule and is not
 * listed below, or if no suite reaches a statement of the store. If `npm test` has passed on exactly these files, its record is used,
 * and no suite runs again.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { listStatementSites, storeFiles } from "./reached-statements.ts";
import { loadParser } from "./statement-parser.ts";
import { isRecordOf, RECORD_FOLDER, statementSuites } from "./statement-record.ts";
import { checkStatement, checkTransaction, type Violation } from "./statement-rules.ts";

/** Statements that may break a rule, each with the reason. */
const EXCEPTIONS: readonly (readonly [rule: Violation["rule"], statement: RegExp, reason: string])[] = [
  [
    "insert_select",
    /^insert into requests\b/,
    "a row that was not inserted is read again before it counts as a duplicate",
  ],
  [
    "insert_select",
    /^insert into (?:usage_(?:hourly|daily|branches) .* as changes|cost_seals)\b/,
    "changeTogether() compares the affected rows",
  ],
  [
    "insert_select",
    /^insert into usage_branches .* difference\b/,
    "sumBranches() and sumModels() compare the days again until none differs",
  ],
  ["insert_select", /^insert into coverage_days\b/, "sumDays()'s callers compare the affected rows"],
  [
    "insert_select",
    /^insert into request_body_versions\b/,
    "saveEarlierVersion() compares the affected rows",
  ],
  [
    "insert_select",
    /^insert into body_first_sightings\b/,
    "without a row the answer is 425, and the daemon tries again",
  ],
  [
    "node_lock",
    /^select pg_try_advisory_xact_lock\(/,
    "it saves two purges from waiting for each other; each step deletes what is still there",
  ],
  [
    "node_lock",
    /^select pg_advisory_(?:xact_lock|lock|unlock)\(\$1::bigint\)$/,
    "migrations and distributions run on the coordinator alone",
  ],
  ["pulled_insert", /^insert into body_first_sightings\b/, "one row, for a body that came too early"],
];

const parse = await loadParser();
const named = process.argv.slice(2);
const isRecorded = named.length === 0 && isRecordOf(RECORD_FOLDER);
const folder = isRecorded ? RECORD_FOLDER : mkdtempSync(join(tmpdir(), "meter-statements-"));
try {
  if (isRecorded) process.stdout.write("Checking the statements that `npm test` recorded for this tree.\n");
  else runSuites(named.length > 0 ? named : statementSuites());
  report(readTransactions(), parse);
  if (named.length === 0) reportUnreached();
} finally {
  if (!isRecorded) rmSync(folder, { recursive: true, force: true });
}

function runSuites(files: readonly string[]): void {
  const env = { ...process.env, METER_TEST_STATEMENTS: folder, METER_TEST_ONLY_POSTGRES: "1" };
  const words = [
    "--import=./tools/record-statements.ts",
    "--test",
    // Node's default leaves one processor idle.
    `--test-concurrency=${availableParallelism()}`,
    "--test-reporter=dot",
    ...files,
  ];
  if (spawnSync(process.execPath, words, { env, stdio: "inherit" }).status !== 0) process.exitCode = 1;
}

function readTransactions(): string[][] {
  return readdirSync(folder)
    .filter((name) => name.endsWith(".jsonl"))
    .flatMap((name) => readFileSync(join(folder, name), "utf8").trim().split("\n"))
    .map((line) => (JSON.parse(line) as string[]).map((text) => text.replace(/\s+/g, " ").trim()));
}

function report(
  transactions: readonly (readonly string[])[],
  parseStatement: (text: string) => unknown,
): void {
  const trees = new Map<string, unknown>();
  for (const statement of new Set(transactions.flat())) trees.set(statement, parseStatement(statement));
  const allowed = new Map<string, number>();
  let violationCount = 0;
  const judge = (text: string, violations: readonly Violation[]) => {
    for (const { rule, subject } of violations) {
      const exception = EXCEPTIONS.find(([name, pattern]) => name === rule && pattern.test(text));
      if (exception !== undefined) {
        allowed.set(exception[2], (allowed.get(exception[2]) ?? 0) + 1);
        continue;
      }
      violationCount += 1;
      process.stdout.write(`\n${rule}: ${subject}\n  ${text.slice(0, 400)}\n`);
    }
  };
  for (const [statement, tree] of trees) judge(statement, checkStatement(tree));
  for (const transaction of transactions) {
    judge(transaction.join("; "), checkTransaction(transaction.map((text) => trees.get(text))));
  }
  process.stdout.write(
    `\n${trees.size} statements in ${transactions.length} kinds of transactions; ${violationCount} violations. Exceptions:\n`,
  );
  for (const [reason, times] of allowed) process.stdout.write(`  ${times} × ${reason}\n`);
  if (violationCount > 0 || trees.size === 0) process.exitCode = 1;
}

function reportUnreached(): void {
  const sites = listStatementSites(storeFiles(), folder);
  const unreached = sites.filter(({ isReached }) => !isReached);
  process.stdout.write(
    `${sites.length} places in the store send statements, ${unreached.length} were not reached.\n`,
  );
  for (const { file, line } of unreached) process.stdout.write(`  ${file}:${line}\n`);
  if (unreached.length > 0 || sites.length === 0) process.exitCode = 1;
}
