import { parse } from "smol-toml";
import { readTomlItems, type TomlHeader } from "./toml-items.ts";

/** Returns the line of a key such as `proxy.port` or `providers[0].host`, counted from 1; null if it is not known. */
export type LineOfKey = (key: string) => number | null;

/**
 * Creates a function that finds the line of a key in a valid TOML text. For a key that is missing it returns the line of the
 * table that would contain it. The text is read at the first call.
 */
export function createLineOfKey(text: string): LineOfKey {
  let lines: ReadonlyMap<string, number> | null = null;
  return (key) => {
    lines ??= readLines(text);
    let name = key;
    while (!lines.has(name) && name !== parentOf(name)) name = parentOf(name);
    return lines.get(name) ?? null;
  };
}

/** Removes the last name or index of a key. */
const parentOf = (key: string): string => key.replace(/(?:^|\.)[^.[\]]*$|\[\d+\]$/, "");

function readLines(text: string): ReadonlyMap<string, number> {
  const lines = new Map<string, number>();
  const lineAt = createLineCounter(text);
  /** The index of the last element of each array of tables, by the array's key. */
  const lastIndex = new Map<string, number>();
  let table = "";
  for (const item of readTomlItems(text)) {
    if (item.kind === "header") {
      table = keyOfHeader(text, item, lastIndex);
      lines.set(table, lineAt(item.start));
    } else {
      const key = table === "" ? item.key : `${table}.${item.key}`;
      const line = lineAt(item.keyStart);
      for (const name of [key, elementOf(key)]) if (!lines.has(name)) lines.set(name, line);
    }
  }
  return lines;
}

/** Returns the key of a table. For an element of an array of tables, counts the element first. */
function keyOfHeader(text: string, { start, end }: TomlHeader, lastIndex: Map<string, number>): string {
  const header = text.slice(start, end);
  const isElement = header.startsWith("[[");
  const names = namesIn(header);
  let key = "";
  names.forEach((name, at) => {
    key = key === "" ? name : `${key}.${name}`;
    if (isElement && at === names.length - 1) lastIndex.set(key, (lastIndex.get(key) ?? -1) + 1);
    const index = lastIndex.get(key);
    if (index !== undefined) key += `[${index}]`;
  });
  return key;
}

/** Returns the innermost element of a list that contains a key, or the key itself. */
const elementOf = (key: string): string => key.replace(/(\[\d+\])[^\]]*$/, "$1");

/** Returns the names in a header, from the outside in. */
function namesIn(toml: string): string[] {
  const names: string[] = [];
  for (let inner: unknown = parse(toml); typeof inner === "object" && inner !== null; ) {
    const [entry] = Object.entries(Array.isArray(inner) ? (inner[0] ?? {}) : inner);
    if (entry === undefined) break;
    names.push(entry[0]);
    inner = entry[1];
  }
  return names;
}

/** Creates a function that returns the line of an offset. The offsets must be ascending. */
function createLineCounter(text: string): (offset: number) => number {
  let [line, at] = [1, 0];
  return (offset) => {
    for (; at < offset; at += 1) if (text[at] === "\n") line += 1;
    return line;
  };
}
