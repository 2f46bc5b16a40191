import { createHash } from "node:crypto";
import {
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
} from "node:fs";
import { dirname, join, relative } from "node:path";
import process from "node:process";
import { DAEMON_FOLDER } from "../tests/end-to-end/program-file.rig.ts";
import { bundleModules, bundleOftenRunCommands } from "./bundle-program.ts";
import { findProgram } from "./packages.ts";

/** The files that start the programs, and what they import before they know whether they are in a checkout. */
const START_FILES = [
  "cli/bin.js",
  "cli/cloud-bin.js",
  "cli/compile-cache.js",
  "cli/load-bundle.js",
  "cli/node-version.js",
  "cli/supervise.sh",
  "cli/time-zone.js",
  "package.json",
];

const METER = [
  "cli/main.ts",
  "daemon/proxy/proxy-worker.ts",
  "adapters/process-table/lookup-worker.ts",
  "adapters/sqlite/page-check-worker.ts",
];
const BUNDLES = {
  "dist/cli/bundle": METER,
  "dist/cli/meter-cloud": ["cli/meter-cloud/main.ts"],
};

/** Packages that are not bundled. PGlite loads files that lie next to its code; gpt-tokenizer is 4 MB and rarely needed. */
const EXTERNAL = ["@electric-sql/pglite", "gpt-tokenizer"];

const DAY_MS = 86_400_000;

/**
 * Bundles both programs as in the npm package: a start takes a third less CPU time than from the sources. The daemon also gets a
 * bundle of one file, which takes another tenth less to start; a short command would take longer to load it. Returns the folder of
 * the bundles, or null if esbuild is not installed. The folder is below `folder`, which is below `root`, and named after a hash of its
 * contents: a program loads some files only when it needs them, so another run of the tests must not replace them.
 */
export async function writeTestProgram(root: string, folder: string): Promise<string | null> {
  if (findProgram("esbuild") === null) return null;
  removeOldPrograms(folder);
  const draft = join(folder, `draft-${process.pid}`);
  for (const file of START_FILES) {
    for (const copy of [join(draft, file), join(draft, DAEMON_FOLDER, file)]) {
      mkdirSync(dirname(copy), { recursive: true });
      cpSync(join(root, file), copy);
    }
  }
  const place = (name: string) => ({ root, external: EXTERNAL, folder: relative(root, join(draft, name)) });
  const daemon = join(DAEMON_FOLDER, "dist/cli/bundle");
  for (const [name, entries] of Object.entries(BUNDLES)) await bundleModules({ ...place(name), entries });
  await bundleModules({ ...place(daemon), entries: METER, isSingleModule: true });
  await bundleOftenRunCommands(place("dist/cli/bundle"), (word) => `cli/commands/${word}/run-${word}.ts`);
  const programs = join(folder, hashOfFiles(draft));
  if (existsSync(programs)) rmSync(draft, { recursive: true });
  else renameSync(draft, programs);
  const now = new Date();
  utimesSync(programs, now, now);
  return programs;
}

function hashOfFiles(folder: string): string {
  const hash = createHash("sha256");
  for (const file of globSync("**/*.{js,cjs,json,sh}", { cwd: folder }).sort()) {
    hash.update(`${file}\n`).update(readFileSync(join(folder, file)));
  }
  return hash.digest("hex").slice(0, 16);
}

/** Removes the bundles that no run of the last day has used. */
function removeOldPrograms(folder: string): void {
  for (const path of globSync("*", { cwd: folder }).map((name) => join(folder, name))) {
    if (Date.now() - statSync(path).mtimeMs > DAY_MS) rmSync(path, { recursive: true, force: true });
  }
}
