/**
 * `npm run check:statements [test files]`: runs the suites of the cloud on PostgreSQL, parses each statement that the store executes,
 * and checks it and its transaction against the rules of a cluster (`statement-rules.ts`). Fails if a statement breaks a rule and is not
 * listed below, or if no suite reaches a statement of the store.
 */
import { spawnSync } from "node:child_process";
import { globSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { listStatementSites, storeFiles } from "./reached-statements.ts";
import { loadParser } from "./statement-parser.ts";
import { checkStatement, checkTransaction, type Violation } from "./statement-rules.ts";

/** Statements that may break a rule, each with the reason. */
const EXCEPTIONS: readonly (readonly [rule: Violation["rule"], statement: RegExp, reason: string])[] = [
  [
    "insert_select",
    /^insert into requests\b/,
    "a row that was not inserted is read before it is called a duplicate",
  ],
  [
    "insert_select",
    /^insert into usage_(?:hourly|daily|branches) .* (?:from|join) json_to_recordset\b/,
    "addToRollup() compares the affected rows",
  ],
  [
    "insert_select",
    /^insert into usage_branches .* difference\b/,
    "sumBranches() compares the days again until none differs",
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
  ["pulled_insert", /^insert into body_first_sightings\b/, "one row, for a body that came too early"],
];

/** The suites that reach the store through routes, pages and jobs, and the suites of functions that only they call. */
const SUITES = [
  "tests/cloud/*.test.ts",
  "tests/cloud/{purge,erasure,budgets,limits,summaries}/*.test.ts",
  "tests/cloud/routes/**/*.test.ts",
  "tests/cloud/store/{tasks,branch-sums,coverage-days,cost-seals,rates,seal-old-bodies}.test.ts",
  "tests/cloud/pages/{sessions,audit,people-and-prompts,privacy-and-accounts,dashboard,coverage,pages}.test.ts",
];

const parse = await loadParser();
const folder = mkdtempSync(join(tmpdir(), "meter-statements-"));
const coverage = mkdtempSync(join(tmpdir(), "meter-reached-"));
try {
  const named = process.argv.slice(2);
  const files = named.length > 0 ? named : SUITES.flatMap((pattern) => globSync(pattern));
  const env = { ...process.env, METER_TEST_STATEMENTS: folder, NODE_V8_COVERAGE: coverage };
  const { status } = spawnSync(process.execPath, ["--test", "--test-reporter=dot", ...files], {
    env,
    stdio: "inherit",
  });
  if (status !== 0) process.exitCode = 1;
  const transactions = readdirSync(folder).flatMap((name) =>
    readFileSync(join(folder, name), "utf8")
      .trim()
      .split("\n")
      .map((line) => (JSON.parse(line) as string[]).map((text) => text.replace(/\s+/g, " ").trim())),
  );
  report(transactions, parse);
  if (named.length === 0) reportUnreached();
} finally {
  for (const each of [folder, coverage]) rmSync(each, { recursive: true, force: true });
}

function report(
  transactions: readonly (readonly string[])[],
  parseStatement: (text: string) => unknown,
): void {
  const trees = new Map<string, unknown>();
  for (const statement of new Set(transactions.flat())) trees.set(statement, parseStatement(statement));
  const allowed = new Map<string, number>();
  let broken = 0;
  const judge = (text: string, violations: readonly Violation[]) => {
    for (const { rule, subject } of violations) {
      const exception = EXCEPTIONS.find(([name, pattern]) => name === rule && pattern.test(text));
      if (exception !== undefined) {
        allowed.set(exception[2], (allowed.get(exception[2]) ?? 0) + 1);
        continue;
      }
      broken += 1;
      process.stdout.write(`\n${rule}: ${subject}\n  ${text.slice(0, 400)}\n`);
    }
  };
  for (const [statement, tree] of trees) judge(statement, checkStatement(tree));
  for (const transaction of transactions) {
    judge(transaction.join("; "), checkTransaction(transaction.map((text) => trees.get(text))));
  }
  process.stdout.write(
    `\n${trees.size} statements in ${transactions.length} kinds of transactions, ${broken} break a rule. Exceptions:\n`,
  );
  for (const [reason, times] of allowed) process.stdout.write(`  ${times} × ${reason}\n`);
  if (broken > 0 || trees.size === 0) process.exitCode = 1;
}

function reportUnreached(): void {
  const sites = listStatementSites(storeFiles(), coverage);
  const unreached = sites.filter(({ isReached }) => !isReached);
  process.stdout.write(
    `${sites.length} places in the store send statements, ${unreached.length} were not reached.\n`,
  );
  for (const { file, line } of unreached) process.stdout.write(`  ${file}:${line}\n`);
  if (unreached.length > 0 || sites.length === 0) process.exitCode = 1;
}
