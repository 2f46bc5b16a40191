import { loadModule, parseSync } from "libpg-query";

/** Loads PostgreSQL's parser in WebAssembly. Returns a function that parses a statement into its tree. */
export async function loadParser(): Promise<(statement: string) => unknown> {
  await loadModule();
  return parseSync;
}
