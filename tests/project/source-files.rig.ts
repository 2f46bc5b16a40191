import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** The root folder of the checkout, with a trailing slash. */
export const root = fileURLToPath(new URL("../../", import.meta.url));

/** The TypeScript files below a top-level folder, as paths from the root, sorted. */
export function sourceFiles(folder: string): string[] {
  return readdirSync(`${root}${folder}`, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(".ts"))
    .map((entry) => `${entry.parentPath.slice(root.length)}/${entry.name}`.replaceAll("\\", "/"))
    .filter((path) => !path.includes("node_modules"))
    .sort();
}

export function readSource(path: string): string {
  return readFileSync(`${root}${path}`, "utf8");
}

/** The source without comments, so that a rule about code does not trip over prose. */
export function withoutComments(source: string): string {
  return source.replaceAll(/\/\*[\s\S]*?\*\//g, "").replaceAll(/(^|[^:"'`\\])\/\/.*$/gm, "$1");
}

/** Every module that the source imports or re-exports, static and dynamic. */
export function importsOf(source: string): string[] {
  const code = withoutComments(source);
  const found: string[] = [];
  for (const match of code.matchAll(
    /(?:^|[;}\s])(?:import|export)\s[^;"'`]*?from\s*["']([^"']+)["']|(?:^|[;}\s])import\s*["']([^"']+)["']|\bimport\(\s*["']([^"']+)["']/gm,
  )) {
    found.push((match[1] ?? match[2] ?? match[3]) as string);
  }
  return found;
}
