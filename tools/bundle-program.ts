import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, extname, join } from "node:path";
import process from "node:process";
import { findProgram } from "./packages.ts";

/** What `bundleProgram()` and `bundleModules()` read and write. */
export interface ProgramBundle {
  /** The folder of the checkout, which holds `node_modules`. */
  readonly root: string;
  /** The program and its threads, relative to `root`. Each becomes a file of the same name in `folder`. */
  readonly entries: readonly string[];
  /** Where the bundle goes, relative to `root`. */
  readonly folder: string;
  /** Imports that stay outside: packages that an installation may lack, and files that are in the package anyway. */
  readonly external: readonly string[];
  /** Whether each entry becomes a single CommonJS file, `.cjs`, that shares no file with the other entries. */
  readonly isSingleCommonJs?: boolean;
  /** Whether each entry becomes a single ES module, including what it imports dynamically. */
  readonly isSingleModule?: boolean;
}

/**
 * Bundles a program with its packages. The licences of the packages go into `LICENSES.txt`. Throws if a file has a wide character, which esbuild
 * can't escape in a tagged template: write it as an HTML entity.
 */
export async function bundleProgram(bundle: ProgramBundle): Promise<void> {
  const folder = join(bundle.root, bundle.folder);
  writeFileSync(join(folder, "LICENSES.txt"), licencesOf(bundle.root, await bundleModules(bundle)));
  for (const name of readdirSync(folder).filter((each) => each.endsWith(".js"))) {
    const wide = WIDE.exec(readFileSync(join(folder, name), "utf8"));
    if (wide !== null) throw new Error(`${name} has the character ${wide[0]} at ${wide.index}`);
  }
}

/** A character beyond Latin-1. V8 keeps the text of a file in memory, and one such character makes it take two bytes per character. */
const WIDE = /[^\0-\xff]/;

/** The commands that are run often. `cli/bin.js` loads each of them from a single file. */
const OFTEN_RUN_COMMANDS = ["report", "run", "status", "statusline"];

/** Bundles each command that is run often into a single file. `toEntry` returns the module that runs the command. */
export async function bundleOftenRunCommands(
  { external, ...place }: Pick<ProgramBundle, "root" | "folder" | "external">,
  toEntry: (word: string) => string,
): Promise<void> {
  await bundleModules({
    ...place,
    entries: OFTEN_RUN_COMMANDS.map(toEntry),
    // Only Bun's SQLite needs it.
    external: [...external, "kysely"],
    isSingleCommonJs: true,
  });
}

const ES_MODULES = [
  "--format=esm",
  // For packages that are CommonJS.
  '--banner:js=import { createRequire as createBundleRequire } from "node:module"; const require = createBundleRequire(import.meta.url);',
];

const COMMON_JS = [
  "--format=cjs",
  "--out-extension:.js=.cjs",
  "--define:import.meta.url=bundleUrl",
  '--banner:js=const bundleUrl = require("node:url").pathToFileURL(__filename).href;',
];

/**
 * Bundles modules with their packages, for a short start: Node takes about 0.3 ms for each file that it loads. Names stay as they are and lines
 * are short, so that stack traces can be read. V8 keeps a file's text in memory, so comments and indentation are left out. Returns the paths of
 * the files that it read, relative to `root`.
 */
export async function bundleModules({
  root,
  entries,
  folder,
  external,
  isSingleCommonJs,
  isSingleModule,
}: ProgramBundle): Promise<string[]> {
  const esbuild = findProgram("esbuild");
  if (esbuild === null) throw new Error(`esbuild has no package for ${process.platform} on ${process.arch}`);
  const metafile = join(root, folder, "metafile.json");
  const words = [
    ...entries.map((input) => `${basename(input, extname(input))}=${input}`),
    "--bundle",
    // All files go into one folder, because a thread is loaded from a file next to the one that starts it.
    ...(isSingleCommonJs ? COMMON_JS : ES_MODULES),
    ...(isSingleCommonJs || isSingleModule ? [] : ["--splitting"]),
    "--platform=node",
    "--target=node22.19",
    "--minify-whitespace",
    "--line-limit=120",
    `--outdir=${folder}`,
    `--metafile=${metafile}`,
    "--log-level=warning",
    ...[...external, "bun:sqlite"].map((path) => `--external:${path}`),
  ];
  // By default, esbuild never collects garbage. Allocating new memory pages then takes more CPU time than collections do.
  const child = spawn(esbuild, words, { cwd: root, stdio: "inherit", env: { ...process.env, GOGC: "400" } });
  const [code] = await once(child, "exit");
  if (code !== 0) throw new Error(`esbuild failed: exit code ${code}`);
  const { inputs } = JSON.parse(readFileSync(metafile, "utf8"));
  rmSync(metafile);
  return Object.keys(inputs);
}

/** Returns the name, version and licence of each package among the inputs, with the licence's text if the package includes it. */
function licencesOf(root: string, inputs: readonly string[]): string {
  const folders = new Set(
    inputs.flatMap((input) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(input)?.[0] ?? []),
  );
  return [...folders]
    .sort()
    .map((folder) => {
      const { name, version, license } = JSON.parse(readFileSync(join(root, folder, "package.json"), "utf8"));
      const file = readdirSync(join(root, folder)).find((name) => /^licen[cs]e(\.|$)/i.test(name));
      const text = file === undefined ? "" : `\n${readFileSync(join(root, folder, file), "utf8").trim()}\n`;
      return `${name} ${version}, ${license}\n${text}`;
    })
    .join(`\n${"-".repeat(80)}\n\n`);
}
