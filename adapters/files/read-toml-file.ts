import { parse } from "smol-toml";
import { readSmallFile, type SmallFileProblem, type SmallFileRules } from "./read-small-file.ts";
import { createLineOfKey, type LineOfKey } from "./toml-lines.ts";

/** A parsed but not yet validated file, or why it could not be read. */
export type TomlFile =
  | { readonly ok: true; readonly table: Readonly<Record<string, unknown>>; readonly lineOf: LineOfKey }
  /** `line` and `column` locate a syntax error; both are 0 for any other problem. */
  | {
      readonly ok: false;
      readonly reason: SmallFileProblem | "not_toml";
      readonly line: number;
      readonly column: number;
    };

/** Maximum nesting of tables and lists. The meter's own files need four levels. */
const MAX_DEPTH = 32;

/**
 * Reads a TOML file with the rules of `readSmallFile()`. Integers are read as numbers if they are exact, dates as `Date`.
 * Never rejects. The parser's message is not included, because it quotes the file.
 */
export async function readTomlFile(path: string, rules: SmallFileRules): Promise<TomlFile> {
  const file = await readSmallFile(path, rules);
  if (!file.ok) return { ...file, line: 0, column: 0 };
  try {
    const table = parse(file.text, {
      maxDepth: MAX_DEPTH,
      unsafeKeyBehaviour: "drop",
      integersAsBigInt: "asNeeded",
    });
    return { ok: true, table, lineOf: createLineOfKey(file.text) };
  } catch (cause) {
    const { line = 0, column = 0 } = cause as { line?: number; column?: number };
    return { ok: false, reason: "not_toml", line, column };
  }
}
