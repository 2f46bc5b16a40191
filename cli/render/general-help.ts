import { wrap } from "./wrap.ts";

/** A command as the help of the whole program names it. */
export interface CommandLine {
  /** The words that it begins with, the program's name first. */
  readonly path: string;
  readonly category: string;
  readonly description: string;
}

/** Columns that the text fills at most: the parser's own help of one command is as wide. */
const WIDTH = 80;

/** What `--help` says of the whole program: each command in one line, under its category, and the exit codes. */
export function renderGeneralHelp(
  program: { readonly name: string; readonly version: string },
  commands: readonly CommandLine[],
  exitCodes: readonly (readonly [code: number, meaning: string])[],
  heading: (text: string) => string,
): string {
  const room = Math.max(...commands.map(({ path }) => path.length)) + 4;
  const line = ({ path, description }: CommandLine) =>
    wrap(description, WIDTH - room).map((part, index) =>
      (index === 0 ? `  ${path}`.padEnd(room) : " ".repeat(room)).concat(part),
    );
  const categories = [...new Set(commands.map(({ category }) => category))];
  return [
    heading(`${program.name} ${program.version}`),
    "",
    `Usage: ${program.name} <command> [options]`,
    `       ${program.name} <command> --help   its options, with examples`,
    ...categories.flatMap((category) => [
      "",
      heading(category),
      ...commands.filter((each) => each.category === category).flatMap(line),
    ]),
    "",
    heading("Exit codes"),
    ...exitCodes.map(([code, meaning]) => `  ${code}  ${meaning}`),
    "",
  ].join("\n");
}
