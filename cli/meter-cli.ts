import { Cli, type CommandClass } from "clipanion";
import { renderGeneralHelp } from "./render/general-help.ts";
import type { Candidate } from "./render/misunderstood.ts";
import { usageLine } from "./render/usage-line.ts";
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

/** Columns that a usage fills at most. */
const WIDTH = 80;

/** What the parser throws where no command fits the words. */
interface UnknownSyntax extends Error {
  input: readonly string[];
  candidates: readonly Candidate[];
}

/** What the parser puts behind the last word. */
const END_OF_INPUT = "\0";

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
    if ((command ?? null) !== null) {
      const text = readable(super.usage(...given))
        .split("\n")
        .map((line) => (line.startsWith("$ ") ? usageLine(this.#named(line), WIDTH) : line.trimEnd()))
        .join("\n");
      return alignOptions(text);
    }
    const commands = this.definitions().map(({ path, category = "", description = "" }) => ({
      path: path.replace(/ [<[-].*$/, ""),
      category: category.trim(),
      description: description.trim(),
    }));
    const { name, exitCodes } = this.#program;
    return renderGeneralHelp({ name, version }, commands, exitCodes, this.format(options?.colored).bold);
  }

  /** What is wrong with words that the parser did not take. */
  async explain(cause: unknown): Promise<string> {
    const error = cause instanceof Error ? cause : new Error(String(cause));
    if (error.name !== "UnknownSyntaxError") return `${readable(this.error(error, {})).trimEnd()}\n`;
    const { renderMisunderstood } = await import("./render/misunderstood.ts");
    const { input, candidates } = error as UnknownSyntax;
    return renderMisunderstood(
      this.#program.name,
      input.filter((word) => word !== END_OF_INPUT),
      candidates.map(({ usage, reason }) => ({ usage: this.#named(readable(usage)), reason })),
      this.definitions(),
    );
  }

  /** The usage of a command that takes several words, with their names; the parser says `...`. */
  #named(usage: string): string {
    for (const [command] of this.registrations) {
      const { restOfLine, paths = [] } = command as CommandClass & { readonly restOfLine?: string };
      const isOf = ({ length }: { length: number }, path: string) =>
        length > 0 && new RegExp(`^(\\$ )?${this.#program.name} ${path}( [[<.]|$)`).test(usage);
      if (restOfLine !== undefined && paths.some((words) => isOf(words, words.join(" "))))
        return usage.replace(" ...", ` ${restOfLine}`);
    }
    return usage;
  }
}
