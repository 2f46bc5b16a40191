import { Cli, type CommandClass, type Definition } from "clipanion";
import {
  type CommandDescription,
  renderCommandHelp,
  renderGeneralHelp,
  renderGroupHelp,
  usageLines,
} from "./help.ts";
import type { Candidate } from "./usage-problem.ts";
import { version } from "./version.ts";

/** A program of this package: its name and the meanings of its exit codes. */
export interface Program {
  readonly name: string;
  readonly exitCodes: readonly (readonly [code: number, meaning: string])[];
}

/** The error that the parser throws if no command matches the arguments. */
interface UnknownSyntax extends Error {
  input: readonly string[];
  candidates: readonly Candidate[];
}

/** The marker that the parser appends to the arguments. */
const END_OF_INPUT = "\0";

/** The placeholder in the parser's usage for arguments without a limit. A command may name them in `restOfLine`. */
const REST = "...";

/** The parser with our own help: named values, exit codes, and colours on terminals only. */
export class MeterCli extends Cli {
  readonly #program: Program;

  constructor(program: Program, colours: boolean) {
    const { name } = program;
    super({ binaryLabel: name, binaryName: name, binaryVersion: version, enableColors: colours });
    this.#program = program;
  }

  /** Renders the help of a command; with `detailed` unset, only how it is called; without a command, the general help. */
  override usage(...[command, { detailed = false } = {}]: Parameters<Cli["usage"]>): string {
    const { bold } = this.format();
    const all = this.#describeCommands();
    if ((command ?? null) === null) {
      const { name, exitCodes } = this.#program;
      return renderGeneralHelp({ name, version }, [...all.values()], exitCodes, bold);
    }
    const described = all.get(
      typeof command === "function" ? command : (command?.constructor as CommandClass),
    );
    if (described === undefined) return "";
    if (!detailed) return `${usageLines(described).join("\n")}\n`;
    const members = [...all.values()].filter(({ path }) => path.startsWith(`${described.path} `));
    return renderCommandHelp(described, members, bold);
  }

  /** Returns the help of a group of commands, such as `cloud --help`; null for any other command line. */
  groupHelp(words: readonly string[]): string | null {
    const group = words.slice(0, -1);
    if (group.length === 0 || !["--help", "-h"].includes(words.at(-1) ?? "")) return null;
    const prefix = [this.#program.name, ...group].join(" ");
    const commands = [...this.#describeCommands().values()];
    const members = commands.filter(({ path }) => path.startsWith(`${prefix} `));
    // A group that is also a command, such as `project`, has that command's help.
    if (members.length === 0 || commands.some(({ path }) => path === prefix)) return null;
    return renderGroupHelp(prefix, members, this.format().bold);
  }

  /** Describes why the parser rejected the command line. */
  async explain(cause: unknown): Promise<string> {
    const error = cause instanceof Error ? cause : new Error(String(cause));
    if (error.name !== "UnknownSyntaxError") return `${this.#program.name}: ${error.message}\n`;
    const { renderUsageProblem } = await import("./usage-problem.ts");
    const { input, candidates } = error as UnknownSyntax;
    return renderUsageProblem(
      this.#program.name,
      input.filter((word) => word !== END_OF_INPUT),
      candidates,
      [...this.#describeCommands().values()],
    );
  }

  /** Returns the registered commands that have a help text, in their order. */
  #describeCommands(): Map<CommandClass, CommandDescription> {
    const commands = [...this.registrations.keys()].filter(({ usage }) => usage !== undefined);
    const definitions = this.definitions({ colored: this.enableColors === true });
    return new Map(
      commands.map((command, index) => [command, describe(command, definitions[index] as Definition)]),
    );
  }
}

/** Describes a command from the parser's definition of it. */
function describe(command: CommandClass, definition: Definition): CommandDescription {
  const { path, usage, category = "", description = "", details = "", examples = [] } = definition;
  const { restOfLine = REST } = command as CommandClass & { readonly restOfLine?: string };
  return {
    path,
    category: category.trim(),
    description: description.trim(),
    details: details.trim().replaceAll(" \n", "\n"),
    options: definition.options.map((option) => {
      // The parser writes an option and its values as `--side #0`.
      const [names = "", ...values] = option.definition.split(" ");
      return {
        syntax: [names, ...values.map(() => "<value>")].join(" "),
        description: (option.description ?? "").trim(),
        required: option.required,
      };
    }),
    positionals: usage.slice(path.length).trim().replace(REST, restOfLine),
    examples: examples.map(([label, line]) => [label.trim(), line]),
  };
}
