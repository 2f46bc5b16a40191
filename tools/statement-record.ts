/**
 * The record from which `npm run check:statements` judges the statements of the cloud: the transactions that its suites sent, and the
 * places in the store that sent them. `npm test` leaves one, because it runs these suites anyway.
 */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));

/** The folder of files that test runs reuse. Each checkout has its own, because `node_modules` can be a link to another checkout's. */
export const TEST_CACHE: string = join(
  root,
  "node_modules/.cache/meter-tests",
  createHash("sha256").update(root).digest("hex").slice(0, 8),
);

/** Where `npm test` leaves its record. */
export const RECORD_FOLDER: string = join(TEST_CACHE, "statements");

/** The suites that reach the store through routes, pages and jobs, and the suites of functions that only they call. */
const SUITES = [
  "tests/cloud/*.test.ts",
  "tests/cloud/{purge,erasure,budgets,limits,summaries}/*.test.ts",
  "tests/cloud/routes/**/*.test.ts",
  "tests/cloud/store/{tasks,branch-sums,coverage-days,cost-seals,rates,seal-old-bodies,transaction}.test.ts",
  "tests/cloud/pages/{sessions,audit,people-and-prompts,privacy-and-accounts,dashboard,coverage,pages}.test.ts",
];

/** Returns the paths of the recorded suites, from the root of the checkout. */
export function statementSuites(): string[] {
  return globSync(SUITES, { cwd: root })
    .map((file) => file.replaceAll("\\", "/"))
    .sort();
}

/** The name of the file that says which tree a finished record belongs to. */
const TREE_FILE = "tree";

/** Starts an empty record in a folder. Returns a function that marks it as finished, unless a file of the tree has changed since. */
export function startRecord(folder: string, tree: string = root): () => void {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const hash = hashTree(tree);
  return () => {
    if (hash !== null && hash === hashTree(tree)) writeFileSync(join(folder, TREE_FILE), hash);
  };
}

/** Whether a folder has a finished record of a tree as it is now. */
export function isRecordOf(folder: string, tree: string = root): boolean {
  const path = join(folder, TREE_FILE);
  return existsSync(path) && readFileSync(path, "utf8") === hashTree(tree);
}

/** Hashes the names and contents of all files that Git does not ignore, and the version of Node; null without Git. */
function hashTree(tree: string): string | null {
  const words = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
  const { status, stdout } = spawnSync("git", words, { cwd: tree, encoding: "utf8", maxBuffer: 2 ** 26 });
  if (status !== 0) return null;
  const hash = createHash("sha256").update(process.version);
  for (const name of [...new Set(stdout.split("\0"))].filter(Boolean).sort()) {
    const path = join(tree, name);
    const content = existsSync(path)
      ? createHash("sha256").update(readFileSync(path)).digest("hex")
      : "deleted";
    hash.update(`${name}\0${content}\0`);
  }
  return hash.digest("hex");
}
