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
  /** An anchor or boundary, which matches no character: `^ $ \b \B \A \z`. */
  | { readonly kind: "anchor" }
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
interface Cursor {
  readonly pattern: string;
  index: number;
  /** The capture groups so far. */
  groups: number;
}

function readEscape(cursor: Cursor): readonly number[] | null {
  const letter = cursor.pattern[cursor.index++] as string;
  if (letter in SHORTHANDS) return SHORTHANDS[letter] as readonly number[];
  if (letter in CONTROLS) return [CONTROLS[letter] as number];
  if (letter === "x") {
    const code = Number.parseInt(cursor.pattern.slice(cursor.index, cursor.index + 2), 16);
    cursor.index += 2;
    return [code];
  }
  if ("bBAz".includes(letter)) return null;
  if (/[A-Za-z0-9]/.test(letter)) throw new Error(`escape \\${letter} in ${cursor.pattern}`);
  return [letter.charCodeAt(0)];
}

/** Reads a character or shorthand in a class. */
function readClassMember(cursor: Cursor): readonly number[] | null {
  const letter = cursor.pattern[cursor.index] as string;
  cursor.index += 1;
  return letter === "\\" ? readEscape(cursor) : [letter.charCodeAt(0)];
}

function readClass(cursor: Cursor, flags: Flags): Node {
  const negated = cursor.pattern[cursor.index] === "^";
  if (negated) cursor.index += 1;
  const codes = new Set<number>();
  const first = cursor.index;
  while (cursor.pattern[cursor.index] !== "]" || cursor.index === first) {
    if (cursor.pattern.startsWith("[:alnum:]", cursor.index)) {
      for (const code of within(/[A-Za-z0-9]/)) codes.add(code);
      cursor.index += 9;
      continue;
    }
    const from = readClassMember(cursor);
    if (from === null) throw new Error(`anchor in a class of ${cursor.pattern}`);
    const isRange =
      from.length === 1 && cursor.pattern[cursor.index] === "-" && cursor.pattern[cursor.index + 1] !== "]";
    if (!isRange) {
      for (const code of from) codes.add(code);
      continue;
    }
    cursor.index += 1;
    const to = readClassMember(cursor);
    for (let code = from[0] as number; code <= (to?.[0] as number); code += 1) codes.add(code);
  }
  cursor.index += 1;
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

function readAtom(cursor: Cursor, flags: Flags): Node {
  const letter = cursor.pattern[cursor.index++] as string;
  if (letter === "[") return readClass(cursor, flags);
  if (letter === ".") return { kind: "set", codes: ALL.filter((code) => flags.s || code !== 10) };
  if (letter === "^" || letter === "$") return { kind: "anchor" };
  if (letter === "(") {
    const inline = /^\?([ims-]*):|^\?P<\w+>/.exec(cursor.pattern.slice(cursor.index));
    if (inline === null && cursor.pattern[cursor.index] === "?")
      throw new Error(`group in ${cursor.pattern}`);
    cursor.index += inline?.[0].length ?? 0;
    const isCapture = inline === null || inline[1] === undefined;
    if (isCapture) cursor.groups += 1;
    const number = cursor.groups;
    const part = readAlternatives(cursor, readFlags(inline?.[1] ?? "", flags));
    cursor.index += 1;
    return isCapture ? { kind: "group", index: number, part } : part;
  }
  if (letter === "\\") {
    const codes = readEscape(cursor);
    return codes === null ? { kind: "anchor" } : { kind: "set", codes: fold(codes, flags) };
  }
  return { kind: "set", codes: fold([letter.charCodeAt(0)], flags) };
}

function readRepeat(cursor: Cursor, part: Node): Node {
  const counted = /^(?:([*+?])|\{(\d+)(,?)(\d*)\})\??/.exec(cursor.pattern.slice(cursor.index));
  if (counted === null) return part;
  cursor.index += counted[0].length;
  const [, sign, least, comma, most] = counted;
  if (sign !== undefined) {
    return { kind: "repeat", part, min: sign === "+" ? 1 : 0, max: sign === "?" ? 1 : Infinity };
  }
  const min = Number(least);
  return { kind: "repeat", part, min, max: comma === "" ? min : most === "" ? Infinity : Number(most) };
}

function readAlternatives(cursor: Cursor, given: Flags): Node {
  let flags = given;
  const options: Node[] = [];
  let parts: Node[] = [];
  while (cursor.index < cursor.pattern.length && cursor.pattern[cursor.index] !== ")") {
    const setting = /^\(\?([ims-]+)\)/.exec(cursor.pattern.slice(cursor.index));
    if (setting !== null) {
      flags = readFlags(setting[1] as string, flags);
      cursor.index += setting[0].length;
    } else if (cursor.pattern[cursor.index] === "|") {
      cursor.index += 1;
      options.push({ kind: "sequence", parts });
      parts = [];
    } else parts.push(readRepeat(cursor, readAtom(cursor, flags)));
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
    case "anchor":
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
