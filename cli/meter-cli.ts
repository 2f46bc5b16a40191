import { Cli } from "clipanion";
import { renderGeneralHelp } from "./render/general-help.ts";
import { printable, printableLines } from "./render/printable.ts";
import { version } from "./version.ts";

/** A program of the package: its name and what its exit codes mean. */
export interface Program {
  readonly name: string;
  readonly exitCodes: readonly (readonly [code: number, meaning: string])[];
}

/** The option's value as the help names it; the parser's own stand-in is `#0`. */
const readable = (text: string) => text.replaceAll(/ #\d/g, " <value>");

/** A line of an option in the help, as the parser pads it: the name, perhaps in bold, and what it does. */
const optionLine = /^ {2}(\u001b\[1m)?(-\S[^\u001b]*?) *(\u001b\[22m)? {4}(\S.*)$/;

/** Brings the options below each other again, once their values have names. */
function alignOptions(text: string): string {
  const lines = text.split("\n");
  const width = Math.max(0, ...lines.map((line) => optionLine.exec(line)?.[2]?.length ?? 0));
  return lines
    .map((line) =>
      line.replace(
        optionLine,
        (_line, bold = "", name: string, plain = "", does: string) =>
          `  ${bold}${name.padEnd(width)}${plain}  ${does}`,
      ),
    )
    .join("\n");
}

/** What the parser throws where no command fits the words. */
interface UnknownSyntax extends Error {
  input: readonly string[];
  candidates: readonly unknown[];
}

/** What the parser puts behind the last word. */
const END_OF_INPUT = "\0";

/** So many commands may be named to somebody whose words fit none of them; more help nobody. */
const MOST_SUGGESTIONS = 4;

/** The parser, with help that a person can read: named values, the exit codes, colours on terminals alone. */
export class MeterCli extends Cli {
  readonly #program: Program;

  constructor(program: Program, colours: boolean) {
    const { name } = program;
    super({ binaryLabel: name, binaryName: name, binaryVersion: version, enableColors: colours });
    this.#program = program;
  }

  override usage(...given: Parameters<Cli["usage"]>): string {
    const [command, options] = given;
    if ((command ?? null) !== null) return alignOptions(readable(super.usage(...given)));
    const commands = this.definitions().map(({ path, category = "", description = "" }) => ({
      path: path.replace(/ [<[-].*$/, ""),
      category: category.trim(),
      description: description.trim(),
    }));
    const { name, exitCodes } = this.#program;
    return renderGeneralHelp({ name, version }, commands, exitCodes, this.format(options?.colored).bold);
  }

  override error(...given: Parameters<Cli["error"]>): string {
    const [cause] = given;
    if (!(cause instanceof Error) || cause.name !== "UnknownSyntaxError")
      return `${readable(super.error(...given)).trimEnd()}\n`;
    const { input, candidates } = cause as UnknownSyntax;
    if (candidates.length > MOST_SUGGESTIONS)
      return `${this.#program.name}: no such command: ${printable(input.filter((word) => word !== END_OF_INPUT).join(" "))}\n\n${this.#program.name} --help lists them all.\n`;
    return `${this.#program.name}: ${printableLines(readable(cause.message))
      .replace(/^Command not found; did you mean( one of)?:/, "not a whole command; there is:")
      .replaceAll(/^ *\d+\. /gm, "  ")
      .replace(/\n+While running .*$/s, "")
      .trimEnd()}\n`;
  }
}
