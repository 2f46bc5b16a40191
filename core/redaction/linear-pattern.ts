import type { RedactionRule } from "./rule.ts";

/** Most characters that a pattern may need at least, once its repetitions are written out. */
export const MAX_PATTERN_POSITIONS = 256;

/** Positions looked at, for each character of the text on average; a search that needs more is given up. */
const MAX_WORK_PER_CHARACTER = 32;
/** What a short text may cost above that. */
const FREE_WORK = 100_000;

/** Whether a character of this code belongs. */
type Accepts = (code: number) => boolean;

interface Item {
  readonly accepts: Accepts;
  readonly min: number;
  readonly max: number;
}

/** A pattern that can be searched for, or why it can't. */
export type PatternReading =
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

const ITEM = /(\\[dwsDWS])|\\([^A-Za-z0-9])|(\.)|\[(\^?)((?:\\.|[^\]\\]){1,500})\]|([^\\[\](){}*+?|^$.])/y;
const QUANTIFIER = /([*+?])|\{(\d{1,3})(,?)(\d{0,3})\}/y;
const CLASS_PART = /(\\[dwsDWS])|(?:\\(.)|([^\\]))(?:-(?:\\(.)|([^\\])))?/gs;

function readClass(body: string, negated: boolean): Accepts {
  const parts: Accepts[] = [];
  for (const [, shorthand, escaped, plain, escapedEnd, plainEnd] of body.matchAll(CLASS_PART)) {
    if (shorthand !== undefined) {
      parts.push(shorthands[shorthand.charAt(1)] as Accepts);
      continue;
    }
    const from = ((escaped ?? plain) as string).charCodeAt(0);
    const to = (escapedEnd ?? plainEnd)?.charCodeAt(0) ?? from;
    parts.push((code) => code >= from && code <= to);
  }
  return (code) => parts.some((accepts) => accepts(code)) !== negated;
}

function readItems(pattern: string): Item[] | string {
  const items: Item[] = [];
  let index = 0;
  while (index < pattern.length) {
    ITEM.lastIndex = index;
    const match = ITEM.exec(pattern);
    if (match === null) return `unsupported at character ${index + 1}`;
    index = ITEM.lastIndex;
    const [, shorthand, escaped, dot, caret, body, literal] = match;
    let accepts: Accepts;
    if (shorthand !== undefined) accepts = shorthands[shorthand.charAt(1)] as Accepts;
    else if (dot !== undefined) accepts = (code) => code !== 0x0a;
    else if (body !== undefined) accepts = readClass(body, caret === "^");
    else {
      const wanted = ((escaped ?? literal) as string).charCodeAt(0);
      accepts = (code) => code === wanted;
    }
    QUANTIFIER.lastIndex = index;
    const quantifier = QUANTIFIER.exec(pattern);
    if (quantifier === null) {
      items.push({ accepts, min: 1, max: 1 });
      continue;
    }
    index = QUANTIFIER.lastIndex;
    const [, sign, least, comma, most] = quantifier;
    const min = sign === undefined ? Number(least) : sign === "+" ? 1 : 0;
    const max =
      sign === undefined
        ? comma === ""
          ? min
          : most === ""
            ? Infinity
            : Number(most)
        : sign === "?"
          ? 1
          : Infinity;
    if (max < min) return `{${least},${most}} ends before it begins`;
    items.push({ accepts, min, max });
  }
  return items;
}

/** One character of the written-out pattern: `loops` may repeat, `optional` may be left out. */
interface Position {
  readonly accepts: Accepts;
  readonly optional: boolean;
  readonly loops: boolean;
}

/** The same answer from a table where the character is ASCII. */
function tabulate(accepts: Accepts): Accepts {
  const table = Uint8Array.from({ length: 128 }, (_, code) => Number(accepts(code)));
  return (code) => (code < 128 ? table[code] === 1 : accepts(code));
}

function writeOut(items: readonly Item[]): Position[] {
  const positions: Position[] = [];
  for (const { accepts: decides, min, max } of items) {
    const accepts = tabulate(decides);
    const endless = max === Infinity;
    const copies = endless ? Math.max(min, 1) : max;
    for (let copy = 0; copy < copies; copy += 1) {
      positions.push({ accepts, optional: copy >= min, loops: endless && copy === copies - 1 });
    }
  }
  return positions;
}

/**
 * Reads an operator's pattern: characters, `.`, `\d \w \s` and their opposites, classes such as `[a-z0-9_]`, and after
 * each of these `? * + {n} {n,} {n,m}`; there are no groups and no alternatives (write two rules). All possible
 * positions in it are kept at once, so that no text can make it slow; a text that keeps very many of them busy makes `find` throw a RangeError, and
 * the redaction fails closed. What any match covers is found.
 *
 * Decision: this small language instead of the engine's regular expressions, which can take exponential time.
 */
export function readLinearPattern(pattern: string): PatternReading {
  const items = readItems(pattern);
  if (typeof items === "string") return { ok: false, problem: items };
  const positions = writeOut(items);
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
  const canBegin = tabulate((code) => heads.some((position) => position.accepts(code)));
  /** Notes that the position may come next, and those behind it as far as it may be left out. */
  const reach = (starts: Int32Array, position: number, start: number): void => {
    let index = position;
    do {
      const known = starts[index] as number;
      if (known !== -1 && known <= start) return;
      starts[index] = start;
      index += 1;
    } while (positions[index - 1]?.optional === true);
  };
  return (text, report) => {
    // For each position that may come next, the earliest start from which it was reached; -1 where it was not.
    let current = new Int32Array(size + 1).fill(-1);
    let next = new Int32Array(size + 1).fill(-1);
    let isWithin = false;
    let work = text.length * MAX_WORK_PER_CHARACTER + FREE_WORK;
    let foundStart = 0;
    let foundEnd = -1;
    for (let index = 0; index < text.length; index += 1) {
      const code = text.charCodeAt(index);
      if (!isWithin && !canBegin(code)) continue;
      reach(current, 0, index);
      isWithin = false;
      work -= size;
      if (work < 0) throw new RangeError(`pattern needs too much work: ${size} positions`);
      // From the last to the first: the earliest starts stand there, and `reach` stops where it meets an earlier one.
      for (let position = size - 1; position >= 0; position -= 1) {
        const start = current[position] as number;
        const { accepts, loops } = positions[position] as Position;
        if (start === -1 || !accepts(code)) continue;
        isWithin = true;
        reach(next, position + 1, start);
        if (loops) reach(next, position, start);
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
