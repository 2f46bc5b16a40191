// Writes the list of public entries into package.json and deno.json, and the list of public names that a test holds
// the entries against: `npm run exports:write` after a public name has come or gone.
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import process from "node:process";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../", import.meta.url));

/** Single files that are entries, besides each folder with a `mod.ts`. */
const files = [
  ...["hash", "machine", "record", "time", "uuid"].map((name) => `core/${name}.ts`),
  ...readdirSync(`${root}core/ports`).map((name) => `core/ports/${name}`),
];

function modules(folder: string): string[] {
  return readdirSync(`${root}${folder}`, { withFileTypes: true }).flatMap((entry) => {
    const path = `${folder}/${entry.name}`;
    if (entry.isDirectory()) return modules(path);
    return entry.name === "mod.ts" ? [path] : [];
  });
}

/** Each public entry with its source: `./core/pricing` is `./core/pricing/mod.ts`, and `.` is the core as a whole. */
export function publicEntries(): Record<string, string> {
  const sources = [...files, ...["core", "adapters", "daemon", "cloud"].flatMap(modules)].sort();
  const entries = sources.map((source): [string, string] => {
    const name = source.replace(/\/mod\.ts$|\.ts$/, "");
    return [name === "core" ? "." : `./${name}`, `./${source}`];
  });
  return Object.fromEntries(entries.sort(([one], [other]) => (one < other ? -1 : 1)));
}

/** The same for npm, where the entries are built. */
export function npmExports(): Record<string, { types: string; default: string } | string> {
  const built = Object.entries(publicEntries()).map(([name, source]) => {
    const path = `./dist/${source.slice(2).replace(/\.ts$/, "")}`;
    return [name, { types: `${path}.d.ts`, default: `${path}.js` }];
  });
  return { ...Object.fromEntries(built), "./package.json": "./package.json" };
}

/** The names that a source exports, types marked as such. */
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
  for (const [, kind, name] of text.matchAll(
    /^export\s+(?:declare\s+|abstract\s+)?(const|let|function\*?|class|interface|type)\s+(\w+)/gm,
  )) {
    names.push(kind === "interface" || kind === "type" ? `type ${name}` : (name as string));
  }
  return [...new Set(names)].sort();
}

/** The golden list: each entry with its names. */
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

if (process.argv.includes("--write")) {
  for (const [file, exports] of [
    ["package.json", npmExports()],
    ["deno.json", publicEntries()],
  ] as const) {
    const manifest = JSON.parse(readFileSync(`${root}${file}`, "utf8"));
    writeFileSync(`${root}${file}`, `${JSON.stringify({ ...manifest, exports }, null, 2)}\n`);
  }
  writeFileSync(`${root}tests/project/public-names.txt`, publicNames());
}
