import { wrap, wrapParts } from "../render/wrap.ts";

/** A command as the help shows it. */
export interface CommandDescription {
  /** The program's name and the command's words, such as `meter bodies show`. */
  readonly path: string;
  readonly category: string;
  readonly description: string;
  /** Paragraphs, wrapped. Empty if there are none. */
  readonly details: string;
  readonly options: readonly OptionDescription[];
  /** The arguments as the usage line shows them, such as `<id>`. */
  readonly positionals: string;
  readonly examples: readonly (readonly [label: string, command: string])[];
}

/** An option as the help shows it. */
export interface OptionDescription {
  /** The option with a placeholder for its value, such as `--side <value>`. */
  readonly syntax: string;
  readonly description: string;
  readonly required: boolean;
}

/** Formats a heading; bold on terminals. */
export type Heading = (text: string) => string;

/** Maximum width of the help in columns. */
const WIDTH = 80;

/** Renders `--help` of a program: its commands by category, and the exit codes. */
export function renderGeneralHelp(
  program: { readonly name: string; readonly version: string },
  commands: readonly CommandDescription[],
  exitCodes: readonly (readonly [code: number, meaning: string])[],
  heading: Heading,
): string {
  return [
    heading(`${program.name} ${program.version}`),
    "",
    ...groupUsage(program.name),
    ...byCategory(commands, heading),
    "",
    heading("Exit codes"),
    ...exitCodes.map(([code, meaning]) => `  ${code}  ${meaning}`),
    "",
  ].join("\n");
}

/** Renders `--help` of a group of commands, such as `meter cloud`: its commands by category. */
export function renderGroupHelp(
  group: string,
  commands: readonly CommandDescription[],
  heading: Heading,
): string {
  return [...groupUsage(group), ...byCategory(commands, heading), ""].join("\n");
}

/** Renders `--help` of one command. If the command is also a group, such as `meter project`, lists the group's commands. */
export function renderCommandHelp(
  command: CommandDescription,
  members: readonly CommandDescription[],
  heading: Heading,
): string {
  const { description, details, options, examples } = command;
  const room = Math.max(0, ...options.map(({ syntax }) => syntax.length)) + 4;
  const section = (title: string, lines: readonly string[]) =>
    lines.length === 0 ? [] : ["", heading(title), "", ...lines];
  return [
    heading(description),
    ...section("Usage", usageLines(command)),
    ...section(
      "Options",
      options.flatMap(({ syntax, description: does }) => listed(syntax, does, room)),
    ),
    ...section("Details", details === "" ? [] : [details]),
    ...section(
      "Examples",
      examples.flatMap(([label, line], index) => [...(index > 0 ? [""] : []), label, `  $ ${line}`]),
    ),
    ...section("More commands", members.flatMap(toLine(members))),
    "",
  ].join("\n");
}

/** Returns how a command is called, such as `$ meter bodies show [--json] <id>`, wrapped. */
export function usageLines({ path, options, positionals }: CommandDescription): string[] {
  const parts = [
    `$ ${path}`,
    ...options.map(({ syntax, required }) => (required ? syntax : `[${syntax}]`)),
    ...(positionals === "" ? [] : [positionals]),
  ];
  const [first = "", ...rest] = wrapParts(parts, WIDTH - 4);
  return [first, ...rest.map((line) => `    ${line}`)];
}

/** Lists commands with their descriptions, one per line. */
export function renderCommandList(commands: readonly CommandDescription[]): string {
  return commands.flatMap(toLine(commands)).join("\n");
}

const groupUsage = (prefix: string) => [
  `Usage: ${prefix} <command> [options]`,
  `       ${prefix} <command> --help   Show options and examples`,
];

function byCategory(commands: readonly CommandDescription[], heading: Heading): string[] {
  const categories = [...new Set(commands.map(({ category }) => category))];
  return categories.flatMap((category) => [
    "",
    heading(category),
    ...commands.filter((each) => each.category === category).flatMap(toLine(commands)),
  ]);
}

/** Returns a function that renders a command and its description below the others of a list. */
function toLine(commands: readonly CommandDescription[]) {
  const room = Math.max(0, ...commands.map(({ path }) => path.length)) + 4;
  return ({ path, description }: CommandDescription): string[] => listed(path, description, room);
}

/** Renders a name and, from column `room` on, its description. */
const listed = (name: string, description: string, room: number): string[] =>
  wrap(description, WIDTH - room).map((part, index) => (index === 0 ? `  ${name}` : "").padEnd(room) + part);
