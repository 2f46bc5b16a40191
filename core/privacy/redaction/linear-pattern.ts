import type { CharacterSet, RedactionRule } from "./rule.ts";

/** Maximum number of positions of a pattern after its repetitions are expanded. */
export const MAX_PATTERN_POSITIONS = 256;

/** Average number of positions checked per character of the text. A search that needs more is aborted. */
const MAX_WORK_PER_CHARACTER = 32;
/** Extra position checks allowed for any text, so that short texts are never aborted. */
const FREE_WORK = 100_000;

/** Tests whether a character code is in a set. */
type Accepts = (code: number) => boolean;

/** A set of characters and how often it may repeat. */
export interface Item {
  readonly accepts: Accepts;
  readonly min: number;
  readonly max: number;
}

/** A parsed pattern, or why it is invalid. */
type PatternResult =
  | { readonly ok: true; readonly find: RedactionRule["find"] }
  | { readonly ok: false; readonly problem: string };

const isDigit: Accepts = (code) => code >= 0x30 && code <= 0x39;
const isWord: Accepts = (code) => /\w/.test(String.fromCharCode(code));
const isSpace: Accepts = (code) => /\s/.test(String.fromCharCode(code));
const shorthands: Readonly<Record<string, Accepts>> = {
  d: isDigit,
  w: isWord,
  s: isSpace,
  D: (code) => !isDigit(code),
  W: (code) => !isWord(code),
  S: (code) => !isSpace(code),
};

/** The letters that mean a control character after a backslash. Others, such as those of `\b` and `\x41`, are unsupported. */
const CONTROLS: Readonly<Record<string, string>> = { n: "\n", r: "\r", t: "\t" };

const ITEM =
  /(\\[dwsDWS])|\\([^A-Za-z0-9]|[nrt])|(\.)|\[(\^?)((?:\\(?:[^A-Za-z0-9]|[dwsDWSnrt])|[^\]\\]){1,500})\]|([^\\[\](){}*+?|^$.])/y;
const QUANTIFIER = /([*+?])|\{(\d{1,3})(,?)(\d{0,3})\}/y;
const CLASS_PART = /(\\[dwsDWS])|(?:\\(.)|([^\\]))(?:-(?:\\([^dwsDWS])|([^\\])))?/gs;

/** Returns the code of the character that an escape or the character itself means. */
const codeOf = (escaped: string | undefined, plain: string | undefined): number | undefined =>
  ((escaped === undefined ? undefined : CONTROLS[escaped]) ?? escaped ?? plain)?.charCodeAt(0);

/** Reads the inside of a class, or returns what is wrong with it. */
function readClass(body: string, negated: boolean): Accepts | string {
  const parts: Accepts[] = [];
  for (const [part, shorthand, escaped, plain, escapedEnd, plainEnd] of body.matchAll(CLASS_PART)) {
    if (shorthand !== undefined) {
      parts.push(shorthands[shorthand.charAt(1)] as Accepts);
      continue;
    }
    const from = codeOf(escaped, plain) as number;
    const to = codeOf(escapedEnd, plainEnd) ?? from;
    if (to < from) return `${part} ends before it begins`;
    parts.push((code) => code >= from && code <= to);
  }
  return (code) => parts.some((accepts) => accepts(code)) !== negated;
}

/** Parses a pattern into its items, or returns what is wrong with it. */
export function readItems(pattern: string): Item[] | string {
  const items: Item[] = [];
  let index = 0;
  while (index < pattern.length) {
    ITEM.lastIndex = index;
    const match = ITEM.exec(pattern);
    if (match === null) return `unsupported at character ${index + 1}`;
    index = ITEM.lastIndex;
    const [, shorthand, escaped, dot, caret, body, literal] = match;
    let accepts: Accepts | string;
    if (shorthand !== undefined) accepts = shorthands[shorthand.charAt(1)] as Accepts;
    else if (dot !== undefined) accepts = (code) => code !== 0x0a;
    else if (body !== undefined) accepts = readClass(body, caret === "^");
    else {
      const wanted = codeOf(escaped, literal);
      accepts = (code) => code === wanted;
    }
    if (typeof accepts === "string") return accepts;
    QUANTIFIER.lastIndex = index;
    const quantifier = QUANTIFIER.exec(pattern);
    if (quantifier === null) {
      items.push({ accepts, min: 1, max: 1 });
      continue;
    }
    index = QUANTIFIER.lastIndex;
    const [, sign, minText, comma, maxText] = quantifier;
    const min = sign === undefined ? Number(minText) : sign === "+" ? 1 : 0;
    const max =
      sign === undefined
        ? comma === ""
          ? min
          : maxText === ""
            ? Infinity
            : Number(maxText)
        : sign === "?"
          ? 1
          : Infinity;
    if (max < min) return `{${minText},${maxText}} ends before it begins`;
    items.push({ accepts, min, max });
  }
  return items;
}

/** One position of the expanded pattern. */
interface Position {
  readonly accepts: Accepts;
  readonly optional: boolean;
  readonly loops: boolean;
}

/** Returns the ASCII characters that pass a test. */
export function toCharacterSet(accepts: Accepts): CharacterSet {
  return Uint8Array.from({ length: 128 }, (_, code) => Number(accepts(code)));
}

/** Speeds a test up with a table for ASCII. */
function withAsciiTable(accepts: Accepts): Accepts {
  const table = toCharacterSet(accepts);
  return (code) => (code < 128 ? table[code] === 1 : accepts(code));
}

function expandItems(items: readonly Item[]): Position[] {
  const positions: Position[] = [];
  for (const { accepts: test, min, max } of items) {
    const accepts = withAsciiTable(test);
    const isUnbounded = max === Infinity;
    const copies = isUnbounded ? Math.max(min, 1) : max;
    for (let copy = 0; copy < copies; copy += 1) {
      positions.push({ accepts, optional: copy >= min, loops: isUnbounded && copy === copies - 1 });
    }
  }
  return positions;
}

/**
 * Parses an operator's pattern. The language has characters, `.`, `\d \w \s` and their opposites, `\n \r \t`, classes such as
 * `[a-z0-9_]`, and the quantifiers `? * + {n} {n,} {n,m}`. It has no groups and no alternatives (write two rules).
 *
 * The search tracks all possible positions at once, so no text can make it slow. If a text keeps too many positions active,
 * `find` throws a RangeError and the redaction fails closed. Overlapping matches are reported as one range.
 *
 * Decision: a small pattern language, because the engine's regular expressions can take exponential time.
 */
export function readLinearPattern(pattern: string): PatternResult {
  const items = readItems(pattern);
  if (typeof items === "string") return { ok: false, problem: items };
  const positions = expandItems(items);
  if (positions.length > MAX_PATTERN_POSITIONS) {
    return { ok: false, problem: `longer than ${MAX_PATTERN_POSITIONS} characters when written out` };
  }
  if (positions.every((position) => position.optional)) {
    return { ok: false, problem: "matches without a single character" };
  }
  return { ok: true, find: createFind(positions) };
}

function createFind(positions: readonly Position[]): RedactionRule["find"] {
  const size = positions.length;
  const firstRequired = positions.findIndex((position) => !position.optional);
  const heads = positions.slice(0, firstRequired + 1);
  const canStart = withAsciiTable((code) => heads.some((position) => position.accepts(code)));
  /** Activates a position, and the positions after it as long as the ones before them are optional. */
  const activate = (starts: Int32Array, position: number, start: number): void => {
    let index = position;
    do {
      const known = starts[index] as number;
      if (known !== -1 && known <= start) return;
      starts[index] = start;
      index += 1;
    } while (positions[index - 1]?.optional === true);
  };
  return (text, report) => {
    // The earliest start of a match that reaches each position; -1 if none does.
    let current = new Int32Array(size + 1).fill(-1);
    let next = new Int32Array(size + 1).fill(-1);
    let hasActive = false;
    let work = text.length * MAX_WORK_PER_CHARACTER + FREE_WORK;
    let foundStart = 0;
    let foundEnd = -1;
    for (let index = 0; index < text.length; index += 1) {
      const code = text.charCodeAt(index);
      if (!hasActive && !canStart(code)) continue;
      activate(current, 0, index);
      hasActive = false;
      work -= size;
      if (work < 0) throw new RangeError(`pattern needs too much work: ${size} positions`);
      // From last to first: later positions have the earliest starts, and `activate` stops at an earlier start.
      for (let position = size - 1; position >= 0; position -= 1) {
        const start = current[position] as number;
        const { accepts, loops } = positions[position] as Position;
        if (start === -1 || !accepts(code)) continue;
        hasActive = true;
        activate(next, position + 1, start);
        if (loops) activate(next, position, start);
      }
      const start = next[size] as number;
      if (start !== -1) {
        const isApart = foundEnd !== -1 && start > foundEnd;
        if (isApart) report(foundStart, foundEnd);
        foundStart = isApart || foundEnd === -1 ? start : Math.min(foundStart, start);
        foundEnd = index + 1;
      }
      [current, next] = [next, current];
      next.fill(-1);
    }
    if (foundEnd !== -1) report(foundStart, foundEnd);
  };
}
