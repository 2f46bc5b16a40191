/**
 * `npm run check:statements [test files]`: runs the suites of the cloud on PostgreSQL, parses each statement that the store executes,
 * and checks it against the rules of a cluster (`statement-rules.ts`). Fails for a statement that breaks one and is not listed below.
 */
import { spawnSync } from "node:child_process";
import { globSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { loadParser } from "./statement-parser.ts";
import { checkStatement, type Violation } from "./statement-rules.ts";

/** Statements that may break a rule, each with the reason. */
const EXCEPTIONS: readonly (readonly [rule: Violation["rule"], statement: RegExp, reason: string])[] = [
  [
    "insert_select",
    /^insert into requests\b/,
    "a row that was not inserted is read before it is called a duplicate",
  ],
  ["insert_select", /^insert into usage_(?:hourly|daily)\b/, "addToRollup() compares the affected rows"],
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
    "unbound",
    /from "memberships" where "user_id" = /,
    "a person's workspaces: one small query over all shards",
  ],
  [
    "unbound",
    /from "workspaces" where .*"(?:organisation_id" = |workspace_id" in )/,
    "a person's or an organisation's workspaces: one small query over all shards",
  ],
  [
    "unbound",
    /^(?:select 'workspace' as kind|with own as)|delete from "invitations"|from "erasures" where "finished_at" is null/,
    "the hourly purge looks at every workspace",
  ],
];

/** The suites that reach the store through its routes and jobs. Those below `store/` also execute statements of their own. */
const SUITES = [
  "tests/cloud/*.test.ts",
  "tests/cloud/{purge,erasure,budgets}/*.test.ts",
  "tests/cloud/routes/**/*.test.ts",
];

const parse = await loadParser();
const folder = mkdtempSync(join(tmpdir(), "meter-statements-"));
try {
  const named = process.argv.slice(2);
  const files = named.length > 0 ? named : SUITES.flatMap((pattern) => globSync(pattern));
  const env = { ...process.env, METER_TEST_STATEMENTS: folder };
  const { status } = spawnSync(process.execPath, ["--test", "--test-reporter=dot", ...files], {
    env,
    stdio: "inherit",
  });
  if (status !== 0) process.exitCode = 1;
  const texts = readdirSync(folder).flatMap((name) =>
    readFileSync(join(folder, name), "utf8").trim().split("\n"),
  );
  const statements = [
    ...new Set(texts.map((text) => (JSON.parse(text) as string).replace(/\s+/g, " ").trim())),
  ];
  report(statements, parse);
} finally {
  rmSync(folder, { recursive: true, force: true });
}

function report(statements: readonly string[], parseStatement: (text: string) => unknown): void {
  const allowed = new Map<string, number>();
  let broken = 0;
  for (const statement of statements) {
    for (const { rule, subject } of checkStatement(parseStatement(statement))) {
      const exception = EXCEPTIONS.find(([name, pattern]) => name === rule && pattern.test(statement));
      if (exception !== undefined) {
        allowed.set(exception[2], (allowed.get(exception[2]) ?? 0) + 1);
        continue;
      }
      broken += 1;
      process.stdout.write(`\n${rule}: ${subject}\n  ${statement.slice(0, 400)}\n`);
    }
  }
  process.stdout.write(`\n${statements.length} statements, ${broken} break a rule. Exceptions:\n`);
  for (const [reason, times] of allowed) process.stdout.write(`  ${times} × ${reason}\n`);
  if (broken > 0 || statements.length === 0) process.exitCode = 1;
}
