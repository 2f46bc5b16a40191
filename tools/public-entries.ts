// `npm run exports:write`: writes the public entries to package.json and deno.json, the list of public names that a test
// compares with them, and the API reference (docs/api/). Run it after changing a public name or its documentation.
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import process from "node:process";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../", import.meta.url));

/**
 * The public entries: features for other programs. Each folder has a `mod.ts` whose documentation has an example that a
 * test runs.
 */
const FOLDERS = [
  "core",
  "core/values",
  "core/wire",
  "core/ports",
  "core/metering",
  "core/pricing",
  "core/privacy",
  "core/delivery",
  "core/operations",
  "adapters/accounts",
  "adapters/certificates",
  "adapters/clock",
  "adapters/content-decoder",
  "adapters/crypto",
  "adapters/driver",
  "adapters/http",
  "adapters/log",
  "adapters/memory",
  "adapters/postgres",
  "adapters/sqlite",
  "adapters/token-counter",
  "daemon",
  "cloud",
  "cloud/api",
  "cli",
] as const;

/** Maximum number of names that the entries may export together. Each is a promise to keep. */
export const MAX_PUBLIC_NAMES = 400;

/** Returns each public entry with its source: `./core/pricing` is `./core/pricing/mod.ts`, and `.` is the whole core. */
export function publicEntries(): Record<string, string> {
  return Object.fromEntries(
    [...FOLDERS].sort().map((folder) => [folder === "core" ? "." : `./${folder}`, `./${folder}/mod.ts`]),
  );
}

/** Returns the entries for npm, where they are built. */
export function npmExports(): Record<string, { types: string; default: string } | string> {
  const built = Object.entries(publicEntries()).map(([name, source]) => {
    const path = `./dist/${source.slice(2).replace(/\.ts$/, "")}`;
    return [name, { types: `${path}.d.ts`, default: `${path}.js` }];
  });
  return { ...Object.fromEntries(built), "./package.json": "./package.json" };
}

/** Returns the names that a `mod.ts` exports. Types are marked. */
export function exportedNames(source: string): string[] {
  const text = readFileSync(`${root}${source}`, "utf8").replaceAll(/\/\*[\s\S]*?\*\//g, "");
  const names: string[] = [];
  for (const [, typeOnly, list] of text.matchAll(/^export\s+(type\s+)?\{([^}]*)\}/gm)) {
    for (const item of (list as string).split(",")) {
      const name = item
        .trim()
        .split(/\s+as\s+/)
        .at(-1) as string;
      if (name !== "") names.push(typeOnly ? `type ${name}` : name);
    }
  }
  for (const [, name] of text.matchAll(/^export\s+\*\s+as\s+(\w+)/gm)) names.push(name as string);
  return [...new Set(names)].sort();
}

/** Returns the golden list: each entry with its names. */
export function publicNames(): string {
  return Object.entries(publicEntries())
    .map(
      ([name, source]) =>
        `${name}\n${exportedNames(source)
          .map((each) => `  ${each}`)
          .join("\n")}\n`,
    )
    .join("\n");
}

if (import.meta.main && process.argv.includes("--write")) {
  for (const [file, exports] of [
    ["package.json", npmExports()],
    ["deno.json", publicEntries()],
  ] as const) {
    const manifest = JSON.parse(readFileSync(`${root}${file}`, "utf8"));
    writeFileSync(`${root}${file}`, `${JSON.stringify({ ...manifest, exports }, null, 2)}\n`);
  }
  const words = ["tools/biome.js", "format", "--write", "package.json", "deno.json"];
  execFileSync(process.execPath, words, { cwd: root, stdio: "inherit" });
  writeFileSync(`${root}tests/project/public-names.txt`, publicNames());
  execFileSync(process.execPath, ["tools/api-reference.ts"], { cwd: root, stdio: "inherit" });
}
