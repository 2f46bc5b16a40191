import { globSync, readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

/** A place in a source file that sends a statement. */
export interface StatementSite {
  readonly file: string;
  /** From 1. */
  readonly line: number;
  readonly isReached: boolean;
}

/** A part of a script and how often it ran, as V8 reports it. The ranges of a function are nested. */
interface CoveredRange {
  readonly startOffset: number;
  readonly endOffset: number;
  readonly count: number;
}

interface CoveredScript {
  readonly url: string;
  readonly functions: readonly { readonly ranges: readonly CoveredRange[] }[];
}

/** The calls that send a statement, with Kysely. */
const SENDS = /\.execute(?:TakeFirst|TakeFirstOrThrow|Query)?\(/g;

/**
 * Lists the places in source files that send a statement, and whether a process reached them. `folder` is the one that
 * `NODE_V8_COVERAGE` named. Node replaces types with spaces, so the offsets are those of the source.
 */
export function listStatementSites(files: readonly string[], folder: string): readonly StatementSite[] {
  const scripts = new Map<string, CoveredScript[]>();
  for (const name of readdirSync(folder)) {
    const { result } = JSON.parse(readFileSync(join(folder, name), "utf8")) as { result: CoveredScript[] };
    for (const script of result) scripts.set(script.url, [...(scripts.get(script.url) ?? []), script]);
  }
  return files.flatMap((file) => {
    const text = readFileSync(file, "utf8");
    const covered = scripts.get(pathToFileURL(resolve(file)).href) ?? [];
    return [...text.matchAll(SENDS)].map(({ index }) => ({
      file,
      line: text.slice(0, index).split("\n").length,
      isReached: covered.some((script) => countAt(script, index) > 0),
    }));
  });
}

/** Returns how often the code at an offset ran: the count of the smallest range around it. */
function countAt({ functions }: CoveredScript, offset: number): number {
  let smallest: CoveredRange | null = null;
  for (const range of functions.flatMap(({ ranges }) => ranges)) {
    if (range.startOffset > offset || range.endOffset <= offset) continue;
    const size = range.endOffset - range.startOffset;
    if (smallest === null || size <= smallest.endOffset - smallest.startOffset) smallest = range;
  }
  return smallest?.count ?? 0;
}

/** Lists the files of the store whose statements the servers run. The others need the role that owns the tables. */
export function storeFiles(): readonly string[] {
  const owners =
    /\/(?:migrations\/|migrate\.ts|distribute\.ts|cluster-node\.ts|compact\.ts|backup-facts\.ts|hold-writes\.ts|withdrawals\.ts)/;
  return globSync("cloud/store/**/*.ts")
    .filter((file) => !owners.test(file))
    .sort();
}
