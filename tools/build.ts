// `npm run build`: compiles the sources to `dist/`, for `npm pack`. `dist/core` is a separate package for programs that
// need only the logic: `npm pack ./dist/core`.
import { execFileSync } from "node:child_process";
import { copyFileSync, cpSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { OPTIONAL_PACKAGES } from "../adapters/optional-packages.ts";
import { bundleOftenRunCommands, bundleProgram } from "./bundle-program.ts";
import { installPackages } from "./packages.ts";
import { npmExports } from "./public-entries.ts";
import { createSbom } from "./sbom.ts";

const root = fileURLToPath(new URL("../", import.meta.url));
const dist = join(root, "dist");

/** The packages whose files `vendorPackages()` copies. */
const VENDORED = ["gpt-tokenizer", "kysely-bun-sqlite"] as const;

rmSync(dist, { recursive: true, force: true });
await installPackages("tools/build");
execFileSync("tsc", ["-p", "tsconfig.build.json"], { cwd: root, stdio: "inherit" });
removeInternalTypes();
vendorPackages();
await bundleMeter();
writeCorePackage();
writeFileSync(join(dist, "sbom.cdx.json"), createSbom({ root, vendored: VENDORED }));

/** Deletes the declarations that no public entry reaches: 5 MB of every installation. */
function removeInternalTypes(): void {
  const reached = new Set<string>();
  const reach = (path: string) => {
    if (reached.has(path)) return;
    reached.add(path);
    // Examples in comments import too.
    const text = readFileSync(path, "utf8").replaceAll(/\/\*[\s\S]*?\*\//g, "");
    for (const [, imported] of text.matchAll(/(?:from |import |import\()"(\.[^"]+)\.(?:ts|js)"/g))
      reach(join(dirname(path), `${imported}.d.ts`));
  };
  for (const target of Object.values(npmExports()))
    if (typeof target !== "string") reach(join(root, target.types));
  for (const path of globSync("**/*.d.ts", { cwd: dist }))
    if (!reached.has(join(dist, path))) rmSync(join(dist, path));
}

/**
 * Copies files of two packages into `dist/vendor` and makes the compiled adapters import the copies, because both packages would
 * install much that is not used. Only the two encodings in use are copied from gpt-tokenizer (4 of 30 MB). kysely-bun-sqlite is copied
 * without bun-types (12 MB) and without its peer, an older Kysely.
 */
function vendorPackages(): void {
  const [tokenizer, bunSqlite] = VENDORED;
  vendor(
    tokenizer,
    "adapters/token-counter/gpt-tokenizer.js",
    /"gpt-tokenizer\/(encoding\/\w+)"/g,
    "esm/$1.js",
  );
  vendor(bunSqlite, "adapters/sqlite/bun-sqlite.js", /"kysely-bun-sqlite"/g, "dist/index.js");
}

/** Copies the files of a package that an adapter imports, and all files that those import. `file` is their path in the package. */
function vendor(packageName: string, adapter: string, specifier: RegExp, file: string): void {
  const source = join(root, "node_modules", packageName);
  const target = join(dist, "vendor", packageName);
  const copied = new Set<string>();
  const copy = (path: string) => {
    if (copied.has(path)) return;
    copied.add(path);
    const text = readFileSync(join(source, path), "utf8").replace(/\n\/\/# sourceMappingURL=.*\s*$/, "\n");
    mkdirSync(dirname(join(target, path)), { recursive: true });
    writeFileSync(join(target, path), text);
    for (const [, imported] of text.matchAll(/^(?:import|export)[^"'\n]*["'](\.[^"']+)["'];?$/gm))
      copy(join(dirname(path), imported as string));
  };
  const compiled = readFileSync(join(dist, adapter), "utf8").replaceAll(specifier, (match) => {
    const path = match.replace(specifier, file);
    copy(path);
    return `"../../vendor/${packageName}/${path}"`;
  });
  if (copied.size === 0) throw new Error(`${adapter} does not import ${packageName}`);
  writeFileSync(join(dist, adapter), compiled);
  copyFileSync(join(source, "LICENSE"), join(target, "LICENSE"));
}

/**
 * Bundles the program `meter`. The bundle must lie as deep in the tree as `cli/daemon`, because that code finds `cli/bin.js` by a relative
 * path. Commands that are run often become a single file each: otherwise they would load the 80 files that all commands share, which
 * takes longer than the command itself.
 */
async function bundleMeter(): Promise<void> {
  const place = { root, folder: "dist/cli/bundle" };
  const external = [...Object.keys(OPTIONAL_PACKAGES), "../../vendor/*"];
  await bundleProgram({
    ...place,
    entries: [
      "dist/cli/main.js",
      "dist/daemon/proxy/proxy-worker.js",
      "dist/adapters/process-table/lookup-worker.js",
      "dist/adapters/sqlite/page-check-worker.js",
    ],
    external,
  });
  await bundleOftenRunCommands({ ...place, external }, (word) => `dist/cli/commands/${word}/run-${word}.js`);
}

/** Makes `dist/core` a package, `@llm-meter/core`, that depends only on valibot. */
function writeCorePackage(): void {
  const { version, license, type, engines, dependencies } = JSON.parse(
    readFileSync(join(root, "package.json"), "utf8"),
  );
  const entries = Object.entries(npmExports()).flatMap(([name, target]) => {
    if (typeof target === "string") return [];
    if (name !== "." && !name.startsWith("./core/")) return [];
    const inCore = (path: string) => path.replace("./dist/core/", "./");
    return [
      [name.replace("./core/", "./"), { types: inCore(target.types), default: inCore(target.default) }],
    ];
  });
  const manifest = {
    name: "@llm-meter/core",
    version,
    description:
      "Reads what a call to a language model used, prices it, redacts it and syncs it: pure functions and state machines.",
    ...{ license, type, engines },
    exports: { ...Object.fromEntries(entries), "./package.json": "./package.json" },
    dependencies: { valibot: dependencies.valibot },
  };
  writeFileSync(join(dist, "core/package.json"), `${JSON.stringify(manifest, null, 2)}\n`);
  for (const file of ["core/README.md", "LICENSE"])
    cpSync(join(root, file), join(dist, "core", basename(file)));
}
