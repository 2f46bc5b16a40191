/**
 * Loaded before a test file with `--import`: if `METER_TEST_STATEMENTS` names a folder and the file is one of the recorded suites, or a
 * bundle of them, records which places in the store send a statement. Other files record nothing.
 */
import { appendFileSync } from "node:fs";
import { registerHooks } from "node:module";
import { basename, join, relative } from "node:path";
import process from "node:process";
import { fileURLToPath, pathToFileURL } from "node:url";
import { markStatementSites, REACHED_FILE, STATEMENT_BUNDLE } from "./reached-statements.ts";
import { statementSuites } from "./statement-record.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const folder = process.env.METER_TEST_STATEMENTS;
const file = process.argv[1] ?? "";
if (folder !== undefined) {
  if (isRecorded()) recordReached(folder);
  else delete process.env.METER_TEST_STATEMENTS;
}

function isRecorded(): boolean {
  // `check:statements` records every file that it runs.
  if (process.env.METER_TEST_ONLY_POSTGRES !== undefined) return true;
  return basename(file).startsWith(STATEMENT_BUNDLE) || statementSuites().includes(relative(root, file));
}

function recordReached(to: string): void {
  const store = pathToFileURL(join(root, "cloud/store/")).href;
  const path = join(to, `${process.pid}.${REACHED_FILE}`);
  registerHooks({
    load: (url, context, nextLoad) => {
      const loaded = nextLoad(url, context);
      if (!url.startsWith(store) || loaded.source === undefined || loaded.source === null) return loaded;
      const text =
        typeof loaded.source === "string" ? loaded.source : new TextDecoder().decode(loaded.source);
      return { ...loaded, source: markStatementSites(text, relative(root, fileURLToPath(url))) };
    },
  });
  const reached = new Set<string>();
  Object.assign(globalThis, {
    reachStatement: (site: string) => {
      if (!reached.has(site)) appendFileSync(path, `${site}\n`);
      reached.add(site);
      return [];
    },
  });
}
