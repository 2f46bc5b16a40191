import type { Readable, Writable } from "node:stream";
import { UsageError } from "clipanion";

/**
 * Asks a person at a terminal; anything but yes is a no, and where something is lost for good, "y" is too little. Throws a
 * `UsageError` where nobody sits at a terminal: then `--yes` has to be said.
 */
export async function confirm(
  { stdin, stdout }: { readonly stdin: Readable; readonly stdout: Writable },
  question: string,
  { forGood = false }: { readonly forGood?: boolean } = {},
): Promise<boolean> {
  if (!("isTTY" in stdin && stdin.isTTY === true)) {
    throw new UsageError("nobody is there to be asked: say --yes, or --dry-run to see what would be done");
  }
  const { createInterface } = await import("node:readline/promises");
  const lines = createInterface({ input: stdin, output: stdout });
  // Ctrl-D and Ctrl-C are answers too.
  const ended = new AbortController();
  lines.once("close", () => ended.abort());
  try {
    const wanted = forGood ? /^yes$/i : /^y(es)?$/i;
    const said = await lines.question(`${question} ${forGood ? "Type yes:" : "[y/N]"} `, {
      signal: ended.signal,
    });
    return wanted.test(said.trim());
  } catch {
    return false;
  } finally {
    lines.close();
  }
}
