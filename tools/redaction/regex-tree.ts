/**
 * Parses RE2 patterns, the syntax of gitleaks' rules, into a tree: literals and classes as lists of ASCII codes, sequences,
 * alternatives and repetitions. Inline flags (`(?i)`, `(?-i:…)`) are resolved into the classes. Throws for syntax that no
 * published rule uses.
 */

/** A part of a pattern. */
export type Node =
  | { readonly kind: "set"; readonly codes: readonly number[] }
  | { readonly kind: "sequence"; readonly parts: readonly Node[] }
  | { readonly kind: "alternatives"; readonly options: readonly Node[] }
  | { readonly kind: "repeat"; readonly part: Node; readonly min: number; readonly max: number }
  /** A position without a character: `^ $ \b \B \A \z`. */
  | { readonly kind: "place" }
  | { readonly kind: "group"; readonly index: number; readonly part: Node };

const ALL = Array.from({ length: 128 }, (_, code) => code);
const within = (pattern: RegExp) => ALL.filter((code) => pattern.test(String.fromCharCode(code)));
const SHORTHANDS: Readonly<Record<string, readonly number[]>> = {
  d: within(/\d/),
  w: within(/\w/),
  s: within(/[\t\n\f\r ]/),
  D: within(/\D/),
  W: within(/\W/),
  S: within(/[^\t\n\f\r ]/),
};
const CONTROLS: Readonly<Record<string, number>> = { n: 10, r: 13, t: 9, f: 12, v: 11 };

interface Flags {
  readonly i: boolean;
  readonly s: boolean;
}

function fold(codes: readonly number[], { i }: Flags): number[] {
  if (!i) return [...codes];
  const texts = codes.map((code) => String.fromCharCode(code));
  const both = texts.flatMap((text) => [text.toLowerCase(), text.toUpperCase()]);
  return [...new Set(both.map((text) => text.charCodeAt(0)))].sort((a, b) => a - b);
}

/** How far a pattern has been read. */
interface Reading {
  readonly pattern: string;
  index: number;
  /** The capture groups so far. */
  groups: number;
}

function readEscape(reading: Reading): readonly number[] | null {
  const letter = reading.pattern[reading.index++] as string;
  if (letter in SHORTHANDS) return SHORTHANDS[letter] as readonly number[];
  if (letter in CONTROLS) return [CONTROLS[letter] as number];
  if (letter === "x") {
    const code = Number.parseInt(reading.pattern.slice(reading.index, reading.index + 2), 16);
    reading.index += 2;
    return [code];
  }
  if ("bBAz".includes(letter)) return null;
  if (/[A-Za-z0-9]/.test(letter)) throw new Error(`escape \\${letter} in ${reading.pattern}`);
  return [letter.charCodeAt(0)];
}

/** Reads a character or shorthand in a class. */
function readClassMember(reading: Reading): readonly number[] | null {
  const letter = reading.pattern[reading.index] as string;
  reading.index += 1;
  return letter === "\\" ? readEscape(reading) : [letter.charCodeAt(0)];
}

function readClass(reading: Reading, flags: Flags): Node {
  const negated = reading.pattern[reading.index] === "^";
  if (negated) reading.index += 1;
  const codes = new Set<number>();
  const first = reading.index;
  while (reading.pattern[reading.index] !== "]" || reading.index === first) {
    if (reading.pattern.startsWith("[:alnum:]", reading.index)) {
      for (const code of within(/[A-Za-z0-9]/)) codes.add(code);
      reading.index += 9;
      continue;
    }
    const from = readClassMember(reading);
    if (from === null) throw new Error(`place in a class of ${reading.pattern}`);
    const isRange =
      from.length === 1 &&
      reading.pattern[reading.index] === "-" &&
      reading.pattern[reading.index + 1] !== "]";
    if (!isRange) {
      for (const code of from) codes.add(code);
      continue;
    }
    reading.index += 1;
    const to = readClassMember(reading);
    for (let code = from[0] as number; code <= (to?.[0] as number); code += 1) codes.add(code);
  }
  reading.index += 1;
  const folded = new Set(fold([...codes], flags));
  return { kind: "set", codes: ALL.filter((code) => folded.has(code) !== negated) };
}

function readFlags(text: string, flags: Flags): Flags {
  const [on = "", off = ""] = text.split("-");
  return {
    i: (flags.i || on.includes("i")) && !off.includes("i"),
    s: (flags.s || on.includes("s")) && !off.includes("s"),
  };
}

function readAtom(reading: Reading, flags: Flags): Node {
  const letter = reading.pattern[reading.index++] as string;
  if (letter === "[") return readClass(reading, flags);
  if (letter === ".") return { kind: "set", codes: ALL.filter((code) => flags.s || code !== 10) };
  if (letter === "^" || letter === "$") return { kind: "place" };
  if (letter === "(") {
    const inline = /^\?([ims-]*):|^\?P<\w+>/.exec(reading.pattern.slice(reading.index));
    if (inline === null && reading.pattern[reading.index] === "?")
      throw new Error(`group in ${reading.pattern}`);
    reading.index += inline?.[0].length ?? 0;
    const isCapture = inline === null || inline[1] === undefined;
    if (isCapture) reading.groups += 1;
    const number = reading.groups;
    const part = readAlternatives(reading, readFlags(inline?.[1] ?? "", flags));
    reading.index += 1;
    return isCapture ? { kind: "group", index: number, part } : part;
  }
  if (letter === "\\") {
    const codes = readEscape(reading);
    return codes === null ? { kind: "place" } : { kind: "set", codes: fold(codes, flags) };
  }
  return { kind: "set", codes: fold([letter.charCodeAt(0)], flags) };
}

function readRepeat(reading: Reading, part: Node): Node {
  const counted = /^(?:([*+?])|\{(\d+)(,?)(\d*)\})\??/.exec(reading.pattern.slice(reading.index));
  if (counted === null) return part;
  reading.index += counted[0].length;
  const [, sign, least, comma, most] = counted;
  if (sign !== undefined) {
    return { kind: "repeat", part, min: sign === "+" ? 1 : 0, max: sign === "?" ? 1 : Infinity };
  }
  const min = Number(least);
  return { kind: "repeat", part, min, max: comma === "" ? min : most === "" ? Infinity : Number(most) };
}

function readAlternatives(reading: Reading, given: Flags): Node {
  let flags = given;
  const options: Node[] = [];
  let parts: Node[] = [];
  while (reading.index < reading.pattern.length && reading.pattern[reading.index] !== ")") {
    const setting = /^\(\?([ims-]+)\)/.exec(reading.pattern.slice(reading.index));
    if (setting !== null) {
      flags = readFlags(setting[1] as string, flags);
      reading.index += setting[0].length;
    } else if (reading.pattern[reading.index] === "|") {
      reading.index += 1;
      options.push({ kind: "sequence", parts });
      parts = [];
    } else parts.push(readRepeat(reading, readAtom(reading, flags)));
  }
  options.push({ kind: "sequence", parts });
  return options.length === 1 ? (options[0] as Node) : { kind: "alternatives", options };
}

/** Parses a pattern. */
export function readRegex(pattern: string): Node {
  return readAlternatives({ pattern, index: 0, groups: 0 }, { i: false, s: false });
}

/** Returns a random integer below `bound`. */
export type Pick = (bound: number) => number;

/** Returns a text that the pattern matches. An unbounded repetition stops slightly above its minimum. */
export function sampleRegex(node: Node, pick: Pick): string {
  switch (node.kind) {
    case "place":
      return "";
    case "set": {
      const printable = node.codes.filter((code) => code > 32 && code < 127);
      const codes = printable.length > 0 ? printable : node.codes;
      return String.fromCharCode(codes[pick(codes.length)] as number);
    }
    case "group":
      return sampleRegex(node.part, pick);
    case "sequence":
      return node.parts.map((part) => sampleRegex(part, pick)).join("");
    case "alternatives":
      return sampleRegex(node.options[pick(node.options.length)] as Node, pick);
    case "repeat": {
      const most = Math.min(node.max, node.min + 12);
      const count = node.min + pick(most - node.min + 1);
      return Array.from({ length: count }, () => sampleRegex(node.part, pick)).join("");
    }
  }
}
