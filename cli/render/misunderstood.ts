import { nearest } from "../../core/config/section-reader.ts";
import { printable } from "./printable.ts";
import { usageLine } from "./usage-line.ts";
import { wrap } from "./wrap.ts";

/** What the parser found of one command that the words may have meant. */
export interface Candidate {
  readonly usage: string;
  readonly reason: string | null;
}

interface Described {
  /** The program's name and the command's words. */
  readonly path: string;
  readonly description?: string | undefined;
}

const WIDTH = 80;

/** The parser's reasons in words of ours; another one stays as it is. */
const reasons: readonly (readonly [RegExp, string])[] = [
  [/^Not enough positional arguments\.$/, "something is missing"],
  [/^Extraneous positional argument \("(.*)"\)\.$/, "one word too many: $1"],
  [/^(?:Unsupported|Invalid) option name \("(.*)"\)\.$/, "no such option: $1"],
  [/^Not enough arguments to option (.*)\.$/, "$1 needs a value"],
];

function inWords(reason: string): string {
  const [pattern, words] = reasons.find(([each]) => each.test(reason)) ?? [];
  return pattern === undefined || words === undefined ? reason : reason.replace(pattern, words);
}

/** Says what words that are no command lack, or which command they may have meant. */
export function renderMisunderstood(
  program: string,
  words: readonly string[],
  candidates: readonly Candidate[],
  commands: readonly Described[],
): string {
  const option = words.findIndex((word) => word.startsWith("-"));
  const plain = option < 0 ? words : words.slice(0, option);
  const known = commands.map(({ path, description = "" }) => ({
    words: path.split(" ").slice(1),
    description: description.trim(),
  }));
  const [meant] = known
    .filter((each) => each.words.every((word, index) => word === plain[index]))
    .toSorted((one, other) => other.words.length - one.words.length);
  if (meant !== undefined) {
    const path = [program, ...meant.words].join(" ");
    const fitting = candidates.filter(({ usage }) => usage === path || usage.startsWith(`${path} `));
    const reason = fitting.find((each) => each.reason !== null)?.reason ?? "Not enough positional arguments.";
    const usage = fitting[0]?.usage ?? path;
    return `${program}: ${printable(inWords(reason))}\n\n${usageLine(`$ ${usage}`, WIDTH)}\n`;
  }
  const begun = known.filter(
    (each) => plain.length > 0 && plain.every((word, at) => word === each.words[at]),
  );
  if (begun.length > 0) return `${program}: not a whole command; there is:\n\n${list(program, begun)}\n`;
  const said = `${program}: no such command: ${printable(words.join(" "))}`;
  const lines = known.map((each) => each.words.join(" "));
  const lengths = [...new Set(known.map((each) => each.words.length))];
  const near = lengths
    .map((length) => nearest(plain.slice(0, length).join(" "), lines))
    .find((each) => each !== null);
  if (near != null) return `${said}; did you mean ${program} ${near}?\n`;
  const [first = ""] = plain;
  const holding = known.filter((each) => each.words.includes(first));
  if (holding.length > 0) return `${said}; there is:\n\n${list(program, holding)}\n`;
  return `${said}\n\n${program} --help lists them all.\n`;
}

/** Commands below each other, with what they do. */
function list(
  program: string,
  commands: readonly { readonly words: readonly string[]; readonly description: string }[],
): string {
  const named = commands.map(
    ({ words, description }) => [[program, ...words].join(" "), description] as const,
  );
  const room = Math.max(...named.map(([path]) => path.length)) + 4;
  return named
    .flatMap(([path, description]) =>
      wrap(description, WIDTH - room).map(
        (part, index) => (index === 0 ? `  ${path}`.padEnd(room) : " ".repeat(room)) + part,
      ),
    )
    .join("\n");
}
