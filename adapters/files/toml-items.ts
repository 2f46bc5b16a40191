import { parse } from "smol-toml";

/** The path of a value: the names of its tables and its own name. */
export type TomlPath = readonly string[];

/** A `key = value` in a text. Numbers are offsets into the text. */
export interface TomlPair {
  readonly kind: "pair";
  /** The full path; null below an array of tables, where a path is ambiguous. */
  readonly path: TomlPath | null;
  /** The key below its header, with the index of each element of a list: `rules[1].x`. */
  readonly key: string;
  /** The number of leading names in the path that come from the surrounding table. */
  readonly tableLength: number;
  readonly keyStart: number;
  readonly valueStart: number;
  readonly valueEnd: number;
  /** Whether the pair is in an inline table. */
  readonly inline: boolean;
}

/** A `[table]` or `[[table]]` header. */
export interface TomlHeader {
  readonly kind: "header";
  /** Null for an array of tables and the tables below it. */
  readonly path: TomlPath | null;
  readonly start: number;
  readonly end: number;
}

const isSpace = (character: string | undefined) => character === " " || character === "\t";

/** Returns the end of the string that starts at an offset. */
function endOfString(text: string, start: number): number {
  const quote = text[start] as string;
  const long = text.startsWith(quote.repeat(3), start);
  const delimiter = long ? quote.repeat(3) : quote;
  let at = start + delimiter.length;
  while (at < text.length && !text.startsWith(delimiter, at))
    at += quote === '"' && text[at] === "\\" ? 2 : 1;
  at += delimiter.length;
  // Up to two quotes may directly precede the closing three.
  while (long && text[at] === quote) at += 1;
  return at;
}

function endOfComment(text: string, start: number): number {
  const end = text.indexOf("\n", start);
  return end === -1 ? text.length : end;
}

/**
 * Returns the offset after the next occurrence of a character. Throws if there is none, so that invalid TOML cannot cause
 * an endless loop.
 */
function offsetAfter(text: string, character: string, start: number): number {
  const at = text.indexOf(character, start);
  if (at === -1) throw new RangeError(`no ${character} after offset ${start}`);
  return at + 1;
}

/** Returns the offset after a key and the spaces that follow it. */
function endOfKey(text: string, start: number, stop: "=" | "]"): number {
  let at = start;
  while (at < text.length && text[at] !== stop)
    at = text[at] === '"' || text[at] === "'" ? endOfString(text, at) : at + 1;
  while (isSpace(text[at - 1])) at -= 1;
  return at;
}

/** Parses the names of a dotted key with the TOML parser. */
function namesOf(key: string): string[] {
  const names: string[] = [];
  for (let inner: unknown = parse(`${key} = 0`); typeof inner === "object" && inner !== null; ) {
    const [entry] = Object.entries(inner);
    if (entry === undefined) break;
    names.push(entry[0]);
    inner = entry[1];
  }
  return names;
}

/** Returns the offset after white space and comments. */
function skipBlank(text: string, start: number): number {
  let at = start;
  while (at < text.length) {
    if (text[at] === "#") at = endOfComment(text, at);
    else if (/\s/.test(text[at] as string)) at += 1;
    else break;
  }
  return at;
}

interface Walk {
  readonly text: string;
  /** The headers and pairs that were found, in order. */
  readonly items: (TomlPair | TomlHeader)[];
}

/** Where a value is: the names of its tables and its own, null if ambiguous, and its key below the header. */
interface Place {
  readonly path: TomlPath | null;
  readonly key: string;
}

/** Adds the pair at an offset, and the pairs in its value. Returns the end of the value. */
function addPair(walk: Walk, start: number, within: Place, inline: boolean): number {
  const { text, items } = walk;
  const keyEnd = endOfKey(text, start, "=");
  const names = namesOf(text.slice(start, keyEnd));
  const path = within.path === null ? null : [...within.path, ...names];
  const key = (within.key === "" ? names : [within.key, ...names]).join(".");
  let valueStart = offsetAfter(text, "=", keyEnd);
  while (isSpace(text[valueStart])) valueStart += 1;
  const place = items.length;
  const valueEnd = walkValue(walk, valueStart, { path, key });
  const tableLength = within.path?.length ?? 0;
  items.splice(place, 0, {
    kind: "pair",
    path,
    key,
    tableLength,
    keyStart: start,
    valueStart,
    valueEnd,
    inline,
  });
  return valueEnd;
}

/** Returns the end of a value, and adds the pairs of inline tables. Values in arrays have no path. */
function walkValue(walk: Walk, start: number, place: Place): number {
  const { text } = walk;
  const first = text[start];
  if (first === '"' || first === "'") return endOfString(text, start);
  if (first === "[" || first === "{") {
    const close = first === "[" ? "]" : "}";
    let at = skipBlank(text, start + 1);
    for (let index = 0; at < text.length && text[at] !== close; index += 1) {
      const element = { path: null, key: `${place.key}[${index}]` };
      at = skipBlank(text, first === "{" ? addPair(walk, at, place, true) : walkValue(walk, at, element));
      if (text[at] === ",") at = skipBlank(text, at + 1);
    }
    return at + 1;
  }
  let at = start;
  while (at < text.length && !/[,\]}#\r\n]/.test(text[at] as string)) at += 1;
  while (isSpace(text[at - 1])) at -= 1;
  return at;
}

/**
 * Finds all headers and pairs in valid TOML, including those in inline tables. The text is not validated again; only
 * quotes, brackets and line ends are examined.
 */
export function readTomlItems(text: string): (TomlPair | TomlHeader)[] {
  const walk: Walk = { text, items: [] };
  const arrays: string[] = [];
  let table: TomlPath | null = [];

  for (let at = skipBlank(text, 0); at < text.length; at = skipBlank(text, at)) {
    if (text[at] !== "[") {
      at = addPair(walk, at, { path: table, key: "" }, false);
      continue;
    }
    const isArray = text[at + 1] === "[";
    const keyEnd = endOfKey(text, at + (isArray ? 2 : 1), "]");
    const path = namesOf(text.slice(at + (isArray ? 2 : 1), keyEnd));
    const end = offsetAfter(text, "]", keyEnd) + (isArray ? 1 : 0);
    if (isArray) arrays.push(JSON.stringify(path));
    const isBelowArray = path.some((_, index) => arrays.includes(JSON.stringify(path.slice(0, index + 1))));
    table = isBelowArray ? null : path;
    walk.items.push({ kind: "header", path: table, start: at, end });
    at = end;
  }
  return walk.items;
}
