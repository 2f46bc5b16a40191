import { Cli } from "clipanion";
import { exitCodeTable } from "./exit-codes.ts";
import { version } from "./version.ts";

/** The option's value as the help names it; the parser's own stand-in is `#0`. */
const readable = (text: string) => text.replaceAll(/ #\d/g, " <value>");

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
    return `${readable(super.error(...given)).trimEnd()}\n`;
  }
}
