import { existsSync } from "node:fs";

/** PostgreSQL's parser in WebAssembly, which only the checks need. */
const PACKAGE = new URL("../node_modules/libpg-query/wasm/index.js", import.meta.url);

interface Parser {
  loadModule(): Promise<void>;
  parseSync(statement: string): unknown;
}

/** Returns a function that parses a statement into its tree; null if the package is not installed. */
export async function loadParser(): Promise<((statement: string) => unknown) | null> {
  if (!existsSync(PACKAGE)) return null;
  const parser = (await import(PACKAGE.href)) as Parser;
  await parser.loadModule();
  return (statement) => parser.parseSync(statement);
}
