import { nearest } from "../../core/operations/config/section-reader.ts";
import { printable } from "../render/printable.ts";
import { type CommandDescription, renderCommandList, usageLines } from "./help.ts";

/** A command that the parser considered, and why it did not match. */
export interface Candidate {
  readonly usage: string;
  readonly reason: string | null;
}

/** The parser's reason if the command line ends before the last required argument. */
const NOT_ENOUGH = "Not enough positional arguments.";

/** Our messages for the parser's other reasons; a reason that is not listed is printed as it is. */
const messages: readonly (readonly [RegExp, string])[] = [
  [/^Extraneous positional argument \("(.*)"\)\.$/, "Unexpected argument: $1."],
  [/^(?:Unsupported|Invalid) option name \("(.*)"\)\.$/, "Unknown option: $1."],
  [/^Not enough arguments to option (.*)\.$/, "$1 needs a value."],
];

function describeReason(reason: string): string {
  const [pattern, message] = messages.find(([each]) => each.test(reason)) ?? [];
  return pattern === undefined || message === undefined ? reason : reason.replace(pattern, message);
}

/** Names the required option or arguments that are missing, as far as the words show which. */
function describeMissing(command: CommandDescription, words: readonly string[]): string {
  const option = command.options.find(({ syntax, required }) => {
    const [names = ""] = syntax.split(" ");
    return required && !words.some((word) => names.split(",").includes(word.split("=")[0] ?? ""));
  });
  if (option !== undefined) return `The option ${option.syntax.split(" ")[0]} is missing.`;
  const needed = command.positionals.match(/<[^>]+>/g) ?? [];
  const given = words.slice(command.path.split(" ").length - 1).filter((word) => word !== "--");
  // A word after an option may be its value.
  const isCountable = given.every((word) => !word.startsWith("-"));
  const missing = isCountable ? needed.slice(given.length) : needed;
  if (missing.length === 0 || (!isCountable && needed.length > 1)) return "An argument is missing.";
  return missing.length === 1
    ? `The argument ${missing[0]} is missing.`
    : `The arguments ${missing.join(" and ")} are missing.`;
}

/** Describes what is wrong with a command line, and suggests the command that was probably meant. */
export function renderUsageProblem(
  program: string,
  words: readonly string[],
  candidates: readonly Candidate[],
  commands: readonly CommandDescription[],
): string {
  const option = words.findIndex((word) => word.startsWith("-"));
  const plain = option < 0 ? words : words.slice(0, option);
  const known = commands.map((command) => ({ command, words: command.path.split(" ").slice(1) }));
  const [meant] = known
    .filter((each) => each.words.every((word, index) => word === plain[index]))
    .toSorted((one, other) => other.words.length - one.words.length);
  if (meant !== undefined) {
    const { path } = meant.command;
    const reason = candidates.find(
      ({ usage, reason: why }) => why !== null && (usage === path || usage.startsWith(`${path} `)),
    )?.reason;
    const message =
      reason == null || reason === NOT_ENOUGH
        ? describeMissing(meant.command, words)
        : describeReason(reason);
    return `${program}: ${printable(message)}\n\n${usageLines(meant.command).join("\n")}\n`;
  }
  const list = (found: typeof known) => renderCommandList(found.map(({ command }) => command));
  const begun = known.filter(
    (each) => plain.length > 0 && plain.every((word, at) => word === each.words[at]),
  );
  if (begun.length > 0)
    return `${program}: The command is incomplete. Available commands:\n\n${list(begun)}\n`;
  const message = `${program}: Unknown command: ${printable(words.join(" "))}.`;
  const lines = known.map((each) => each.words.join(" "));
  const lengths = [...new Set(known.map((each) => each.words.length))];
  const near = lengths
    .map((length) => nearest(plain.slice(0, length).join(" "), lines))
    .find((each) => each !== null);
  if (near != null) return `${message} Did you mean this?\n\n  ${program} ${near}\n`;
  const [first = ""] = plain;
  const containing = known.filter((each) => each.words.includes(first));
  if (containing.length > 0) return `${message} Similar commands:\n\n${list(containing)}\n`;
  return `${message}\nList all commands: ${program} --help\n`;
}
