import { parse } from "smol-toml";
import { readSmallFile, type SmallFileProblem, type SmallFileRules } from "./read-small-file.ts";

/** A parsed file, not yet trusted, or why there is none. */
export type TomlFile =
  | { readonly ok: true; readonly table: Readonly<Record<string, unknown>> }
  /** `line` is where the text stops being TOML, 0 where that is not the problem. */
  | { readonly ok: false; readonly reason: SmallFileProblem | "not_toml"; readonly line: number };

/** Deepest nesting of tables and lists; nothing of ours needs more than four. */
const MAX_DEPTH = 32;

/**
 * Reads a TOML file under the rules of `readSmallFile()`. Whole numbers come as numbers where they fit exactly, dates as
 * `Date`. Never rejects; the parser's own message is left out, because it quotes the file.
 */
export async function readTomlFile(path: string, rules: SmallFileRules): Promise<TomlFile> {
  const file = await readSmallFile(path, rules);
  if (!file.ok) return { ...file, line: 0 };
  try {
    const table = parse(file.text, {
      maxDepth: MAX_DEPTH,
      unsafeKeyBehaviour: "drop",
      integersAsBigInt: "asNeeded",
    });
    return { ok: true, table };
  } catch (cause) {
    return { ok: false, reason: "not_toml", line: (cause as { line?: number }).line ?? 0 };
  }
}
