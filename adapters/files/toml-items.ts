import { parse } from "smol-toml";

/** The names of the tables that lead to a value, and its own. */
export type TomlPath = readonly string[];

/** One `key = value` of a text, with offsets into it. */
export interface TomlPair {
  readonly kind: "pair";
  /** The whole path; null below an array of tables, where one path means several values. */
  readonly path: TomlPath | null;
  /** How many names of the path the table gives that the pair stands in. */
  readonly tableLength: number;
  readonly keyStart: number;
  readonly valueStart: number;
  readonly valueEnd: number;
  /** Whether it stands within an inline table. */
  readonly inline: boolean;
}

/** One `[table]` or `[[table]]`. */
export interface TomlHeader {
  readonly kind: "header";
  /** Null for an array of tables and what is below one. */
  readonly path: TomlPath | null;
  readonly start: number;
  readonly end: number;
}

const isSpace = (character: string | undefined) => character === " " || character === "\t";

/** The end of the string that begins at the offset. */
function endOfString(text: string, start: number): number {
  const quote = text[start] as string;
  const long = text.startsWith(quote.repeat(3), start);
  const delimiter = long ? quote.repeat(3) : quote;
  let at = start + delimiter.length;
  while (at < text.length && !text.startsWith(delimiter, at))
    at += quote === '"' && text[at] === "\\" ? 2 : 1;
  at += delimiter.length;
  // Up to two quotes may stand right before the closing three.
  while (long && text[at] === quote) at += 1;
  return at;
}

function endOfComment(text: string, start: number): number {
  const end = text.indexOf("\n", start);
  return end === -1 ? text.length : end;
}

/** Past the next such character. Throws where none is left: then the text is no TOML after all, and no loop ends. */
function past(text: string, character: string, start: number): number {
  const at = text.indexOf(character, start);
  if (at === -1) throw new RangeError(`no ${character} after offset ${start}`);
  return at + 1;
}

/** The end of a key: the offset of what follows it, spaces taken off. */
function endOfKey(text: string, start: number, stop: "=" | "]"): number {
  let at = start;
  while (at < text.length && text[at] !== stop)
    at = text[at] === '"' || text[at] === "'" ? endOfString(text, at) : at + 1;
  while (isSpace(text[at - 1])) at -= 1;
  return at;
}

/** The names of a dotted key, read by the parser itself. */
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

/**
 * Finds every header and pair of a text that is known to be TOML, those in inline tables too. The text is not checked
 * again, so that this stays a walk over quotes, brackets and ends of lines.
 */
export function readTomlItems(text: string): (TomlPair | TomlHeader)[] {
  const items: (TomlPair | TomlHeader)[] = [];
  const arrays: string[] = [];
  let table: TomlPath | null = [];

  const skipBlank = (start: number): number => {
    let at = start;
    while (at < text.length) {
      if (text[at] === "#") at = endOfComment(text, at);
      else if (/\s/.test(text[at] as string)) at += 1;
      else break;
    }
    return at;
  };

  const pairAt = (start: number, within: TomlPath | null, inline: boolean): number => {
    const keyEnd = endOfKey(text, start, "=");
    const path = within === null ? null : [...within, ...namesOf(text.slice(start, keyEnd))];
    let valueStart = past(text, "=", keyEnd);
    while (isSpace(text[valueStart])) valueStart += 1;
    const place = items.length;
    const valueEnd = valueAt(valueStart, path);
    const tableLength = within?.length ?? 0;
    items.splice(place, 0, {
      kind: "pair",
      path,
      tableLength,
      keyStart: start,
      valueStart,
      valueEnd,
      inline,
    });
    return valueEnd;
  };

  /** The end of a value; what an inline table holds is noted. In arrays nothing has a path of its own. */
  const valueAt = (start: number, path: TomlPath | null): number => {
    const first = text[start];
    if (first === '"' || first === "'") return endOfString(text, start);
    if (first === "[" || first === "{") {
      const close = first === "[" ? "]" : "}";
      let at = skipBlank(start + 1);
      while (at < text.length && text[at] !== close) {
        at = skipBlank(first === "{" ? pairAt(at, path, true) : valueAt(at, null));
        if (text[at] === ",") at = skipBlank(at + 1);
      }
      return at + 1;
    }
    let at = start;
    while (at < text.length && !/[,\]}#\r\n]/.test(text[at] as string)) at += 1;
    while (isSpace(text[at - 1])) at -= 1;
    return at;
  };

  for (let at = skipBlank(0); at < text.length; at = skipBlank(at)) {
    if (text[at] !== "[") {
      at = pairAt(at, table, false);
      continue;
    }
    const isArray = text[at + 1] === "[";
    const keyEnd = endOfKey(text, at + (isArray ? 2 : 1), "]");
    const path = namesOf(text.slice(at + (isArray ? 2 : 1), keyEnd));
    const end = past(text, "]", keyEnd) + (isArray ? 1 : 0);
    if (isArray) arrays.push(JSON.stringify(path));
    const isBelowArray = path.some((_, index) => arrays.includes(JSON.stringify(path.slice(0, index + 1))));
    table = isBelowArray ? null : path;
    items.push({ kind: "header", path: table, start: at, end });
    at = end;
  }
  return items;
}
