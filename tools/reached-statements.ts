import { globSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** A place in a source file that sends a statement. */
export interface StatementSite {
  readonly file: string;
  /** From 1. */
  readonly line: number;
  readonly isReached: boolean;
}

/** The ending of the files that list reached places. */
export const REACHED_FILE = "reached";

/** How the names of bundles of recorded suites start. */
export const STATEMENT_BUNDLE = "statements-";

/** The calls that send a statement, with Kysely. */
const SENDS = /\.execute(?:TakeFirst|TakeFirstOrThrow|Query)?\(/g;

const siteName = (file: string, offset: number) => `${file.replaceAll("\\", "/")}:${offset}`;

/**
 * Returns the text of a source file in which each call that sends a statement first calls `reachStatement()` with its place.
 * That returns no arguments, so the call is the same.
 */
export function markStatementSites(text: string, file: string): string {
  return text.replaceAll(
    SENDS,
    (call, offset: number) =>
      `${call}...globalThis.reachStatement(${JSON.stringify(siteName(file, offset))}),`,
  );
}

/** Lists the places in source files that send a statement. A place is reached if a file in the folder names it. */
export function listStatementSites(files: readonly string[], folder: string): readonly StatementSite[] {
  const reached = new Set(
    readdirSync(folder)
      .filter((name) => name.endsWith(`.${REACHED_FILE}`))
      .flatMap((name) => readFileSync(join(folder, name), "utf8").split("\n")),
  );
  return files.flatMap((file) => {
    const text = readFileSync(file, "utf8");
    return [...text.matchAll(SENDS)].map(({ index }) => ({
      file,
      line: text.slice(0, index).split("\n").length,
      isReached: reached.has(siteName(file, index)),
    }));
  });
}

/** Lists the files of the store whose statements the servers run. Those of the other files run as the role that owns the tables. */
export function storeFiles(): readonly string[] {
  const owners =
    /\/(?:migrations\/|migrate\.ts|distribute\.ts|cluster-node\.ts|compact\.ts|backup-facts\.ts|hold-writes\.ts|unavailable-keys\.ts|withdrawals\.ts)/;
  return globSync("cloud/store/**/*.ts")
    .filter((file) => !owners.test(file))
    .sort();
}
