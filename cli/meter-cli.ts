import { Cli } from "clipanion";
import { exitCodeTable } from "./exit-codes.ts";
import { printable } from "./render/table.ts";
import { version } from "./version.ts";

/** The option's value as the help names it; the parser's own stand-in is `#0`. */
const readable = (text: string) => text.replaceAll(/ #\d/g, " <value>");

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
  constructor(colours: boolean) {
    super({ binaryLabel: "meter", binaryName: "meter", binaryVersion: version, enableColors: colours });
  }

  override usage(...given: Parameters<Cli["usage"]>): string {
    const text = readable(super.usage(...given));
    if ((given[0] ?? null) !== null) return text;
    const codes = exitCodeTable.map(([code, meaning]) => `  ${code}  ${meaning}\n`).join("");
    return `${text}\nExit codes\n\n${codes}`;
  }

  override error(...given: Parameters<Cli["error"]>): string {
    const [cause] = given;
    if (!(cause instanceof Error) || cause.name !== "UnknownSyntaxError")
      return `${readable(super.error(...given)).trimEnd()}\n`;
    const { input, candidates } = cause as UnknownSyntax;
    if (candidates.length > MOST_SUGGESTIONS)
      return `meter: no such command: ${printable(input.filter((word) => word !== END_OF_INPUT).join(" "))}\n\nmeter --help lists them all.\n`;
    return `meter: ${readable(cause.message)
      .replace(/^Command not found; did you mean( one of)?:/, "not a whole command; there is:")
      .replaceAll(/^ *\d+\. /gm, "  ")
      .replace(/\n+While running .*$/s, "")
      .trimEnd()}\n`;
  }
}
