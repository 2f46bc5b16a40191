import type { Readable, Writable } from "node:stream";
import { UsageError } from "clipanion";
import type { CommandContext } from "./command-context.ts";
import { exitCodes } from "./exit-codes.ts";

/**
 * Asks for confirmation on the terminal. A permanent deletion needs the whole word "yes"; anything else means no. Throws a
 * `UsageError` if standard input is not a terminal.
 */
export async function confirm(
  { stdin, stdout }: { readonly stdin: Readable; readonly stdout: Writable },
  question: string,
  { isPermanent = false }: { readonly isPermanent?: boolean } = {},
): Promise<boolean> {
  if (!("isTTY" in stdin && stdin.isTTY === true)) {
    throw new UsageError(
      "Can't ask for confirmation: standard input is not a terminal. Use --yes to confirm, or --dry-run to see what would be done.",
    );
  }
  const { createInterface } = await import("node:readline/promises");
  const lines = createInterface({ input: stdin, output: stdout });
  // Ctrl-D and Ctrl-C mean no.
  const ended = new AbortController();
  lines.once("close", () => ended.abort());
  try {
    const expected = isPermanent ? /^yes$/i : /^y(es)?$/i;
    const answer = await lines.question(`${question} ${isPermanent ? "Type yes to confirm:" : "[y/N]"} `, {
      signal: ended.signal,
    });
    return expected.test(answer.trim());
  } catch {
    return false;
  } finally {
    lines.close();
  }
}

/**
 * Decides whether a plan that was printed is carried out. Returns null if it is, otherwise the exit code: with `dryRun`, or
 * if the person says no.
 */
export async function confirmPlan(
  context: CommandContext,
  {
    dryRun,
    yes,
    isPermanent = false,
  }: { readonly dryRun: boolean; readonly yes: boolean; readonly isPermanent?: boolean },
): Promise<number | null> {
  if (!dryRun && (yes || (await confirm(context, "Continue?", { isPermanent })))) return null;
  context.print("Nothing was changed.");
  return dryRun ? exitCodes.ok : exitCodes.failed;
}
