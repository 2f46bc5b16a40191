import type { Readable, Writable } from "node:stream";
import { printableJson, printableLines } from "../render/printable.ts";
import { checkHome, findHome } from "./check-home.ts";
import { withProgramName } from "./program-name.ts";

/** Output width in columns if the terminal's width is unknown. */
const DEFAULT_WIDTH = 120;

/** The streams and the environment of a process. */
export interface Streams {
  readonly stdin: Readable;
  readonly stdout: Writable;
  readonly stderr: Writable;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** The context of a command's handler: the environment, the home, and functions that print. */
export interface CommandContext extends Streams {
  /** The meter's home. Reading it throws if the environment names none, or if another user owns it. */
  readonly home: string;
  /** The width of the output in columns. */
  readonly width: number;
  /** Prints the result. Control characters in names, paths and foreign text are replaced. */
  print(text: string): void;
  /** Prints text that contains no commands to run. */
  printAsIs(text: string): void;
  /** Prints JSON. Big integers become decimal strings, because JSON numbers are read as doubles. */
  printJson(value: unknown): void;
  /** Prints a notice on standard error. */
  notice(text: string): void;
}

/** Creates the context of a command; `program` is the name before each line on standard error. */
export function createCommandContext(
  { stdin, stdout, stderr, env }: Streams,
  program: string,
): CommandContext {
  const printAsIs = (text: string) => void stdout.write(`${printableLines(text)}\n`);
  return {
    stdin,
    stdout,
    stderr,
    env,
    get home() {
      const home = findHome(env);
      checkHome(home);
      return home;
    },
    width: widthOf(stdout, env),
    print: (text) => printAsIs(withProgramName(text, env)),
    printAsIs,
    printJson(value) {
      const text = JSON.stringify(
        value,
        (_key, inner) => (typeof inner === "bigint" ? inner.toString() : inner),
        2,
      );
      printAsIs(printableJson(text));
    },
    notice: (text) => void stderr.write(`${program}: ${printableLines(withProgramName(text, env))}\n`),
  };
}

/** Returns the width of the terminal, or of `COLUMNS`, or a default. Some terminals report 0 for unknown. */
function widthOf(stdout: Writable, { COLUMNS = "" }: Streams["env"]): number {
  const { columns } = stdout as { columns?: number };
  if (columns !== undefined && columns > 0) return columns;
  return /^[1-9]\d{0,3}$/.test(COLUMNS) ? Number(COLUMNS) : DEFAULT_WIDTH;
}
