/**
 * Converts the rules of gitleaks to shapes for `core/privacy/redaction/shape-rules.ts`: a keyword, and a sequence of
 * character sets with counts that is matched from left to right without backtracking. A rule that cannot be expressed
 * exactly is widened (a union of sets with the summed counts matches everything that the original does) or omitted with a
 * reason.
 */
import type { ShapeData } from "../../core/privacy/redaction/shape.ts";
import { type Node, readRegex } from "./regex-tree.ts";

/** The stored part of a rule. */
export interface GitleaksRule {
  readonly id: string;
  readonly regex?: string;
  readonly entropy?: number;
  readonly keywords?: readonly string[];
}

/** The checked-in data file. */
export interface GitleaksData {
  readonly source: string;
  readonly licence: string;
  readonly version: string;
  readonly rules: readonly GitleaksRule[];
}

/** Rules that other rules cover better, or that do not match secrets. */
const OMITTED_RULES: Readonly<Record<string, string>> = {
  "generic-api-key": "covered by named_secret",
  "hashicorp-tf-password": "covered by named_secret",
  "curl-auth-header": "covered by bearer_token and named_secret",
  "curl-auth-user": "covered by named_secret",
  "nuget-config-password": "covered by named_secret",
  "freemius-secret-key": "covered by named_secret",
  "kubernetes-secret-yaml": "covered by the decoding of base64",
  "private-key": "covered by private_key",
  jwt: "covered by jwt",
  "openai-api-key": "covered by provider_api_key",
  "sidekiq-sensitive-url": "covered by connection_string",
  "pkcs12-file": "matches the name of a file",
};

interface Item {
  readonly codes: readonly number[];
  readonly min: number;
  readonly max: number;
}

/** Maximum number of alternatives that a rule is expanded to. Beyond it, alternatives are widened to one item. */
const MAX_WAYS = 12;
/** The count that stands for an unbounded repetition. */
const LONGEST = 4_096;
/** The text between a vendor's name and the value, which is the same in all rules of this kind. */
const BETWEEN = `(?:[ \\t\\w.-]{0,20})[\\s'"]{0,3}`;
const VALUE = /\(\?:=\|>\|:\{1,3\}=\|\\\|\\\|\|:\|=>\|\\\?=\|,\)\[\\x60'"\\s=\]\{0,5\}(.*)$/;
const END = `(?:[\\x60'"\\s;]|\\\\[nr]|$)`;

const lengthOf = (items: readonly Item[]) => ({
  min: items.reduce((sum, item) => sum + item.min, 0),
  max: Math.min(
    LONGEST,
    items.reduce((sum, item) => sum + item.max, 0),
  ),
});

/** Returns one item that matches everything that any of the alternatives matches. */
function widen(ways: readonly (readonly Item[])[]): Item {
  const lengths = ways.map(lengthOf);
  return {
    codes: [...new Set(ways.flat().flatMap((item) => item.codes))].sort((a, b) => a - b),
    min: Math.min(...lengths.map(({ min }) => min)),
    max: Math.max(...lengths.map(({ max }) => max)),
  };
}

/** Whether a node matches no character. */
const isAnchor = (node: Node): boolean =>
  node.kind === "anchor" || (node.kind === "sequence" && node.parts.length > 0 && node.parts.every(isAnchor));

function waysOf(node: Node): Item[][] {
  switch (node.kind) {
    case "anchor":
      return [[]];
    case "set":
      return [[{ codes: node.codes, min: 1, max: 1 }]];
    case "group":
      return waysOf(node.part);
    case "alternatives":
      // The end of the text, or a character that cannot be part of the secret: a boundary.
      return node.options.some(isAnchor) ? [[]] : node.options.flatMap(waysOf);
    case "sequence": {
      let ways: Item[][] = [[]];
      for (const part of node.parts) {
        const options = waysOf(part);
        const fit = ways.length * options.length <= MAX_WAYS ? options : [[widen(options)]];
        ways = ways.flatMap((way) => fit.map((option) => [...way, ...option]));
      }
      return ways;
    }
    case "repeat": {
      const ways = waysOf(node.part);
      const max = Math.min(node.max, LONGEST);
      const [only] = ways;
      if (ways.length === 1 && only?.length === 1) {
        const item = only[0] as Item;
        return [[{ codes: item.codes, min: item.min * node.min, max: Math.min(item.max * max, LONGEST) }]];
      }
      if (node.min === node.max && ways.length === 1)
        return [Array.from({ length: max }, () => only as Item[]).flat()];
      if (node.min === 0 && max === 1) return [[], ...ways];
      const wide = widen(ways);
      return [[{ ...wide, min: wide.min * node.min, max: Math.min(wide.max * max, LONGEST) }]];
    }
  }
}

const overlaps = (one: Item, other: Item) => one.codes.some((code) => other.codes.includes(code));

/**
 * Merges items that cannot be matched without backtracking: an item with a varying count, and a next item that its characters may start.
 */
function mergeAmbiguous(items: readonly Item[]): Item[] {
  for (let index = 0; index < items.length - 1; index += 1) {
    const item = items[index] as Item;
    const next = items.slice(index + 1).find((each) => each.min > 0);
    if (item.min === item.max || next === undefined) continue;
    const between = items.slice(index + 1, items.indexOf(next) + 1);
    if (between.some((each) => overlaps(item, each))) {
      return [...items.slice(0, index), { ...widen([items.slice(index)]) }];
    }
  }
  return [...items];
}

/** Returns the character of an item with a single character, in one or both cases. */
const letterOf = (item: Item): string | null => {
  const letters = new Set(item.codes.map((code) => String.fromCharCode(code).toLowerCase()));
  return item.min === 1 && item.max === 1 && letters.size === 1 ? ([...letters][0] as string) : null;
};

/** Returns the longest sequence of single characters at a fixed distance from the start. */
function findKeyword(items: readonly Item[]): { keyword: string; offset: number } | null {
  let best = { keyword: "", offset: 0 };
  let current = { keyword: "", offset: 0 };
  let offset = 0;
  for (const item of items) {
    const letter = letterOf(item);
    current =
      letter === null
        ? { keyword: "", offset: offset + item.max }
        : { ...current, keyword: current.keyword + letter };
    if (current.keyword.length > best.keyword.length) best = current;
    if (item.min !== item.max) break;
    offset += item.max;
  }
  return best.keyword.length >= 2 ? best : null;
}

/** Returns the tree without an optional start, such as `(?:https?://)?`. */
function withoutOptionalHead(node: Node): Node {
  if (node.kind !== "sequence") return node;
  const first = node.parts.findIndex((part) => part.kind !== "repeat" || part.min > 0);
  return { kind: "sequence", parts: node.parts.slice(first) };
}

/** Starts at the second fixed part if a varying part separates it from a less specific first one. */
function withoutVaryingHead(items: readonly Item[]): readonly Item[] {
  const varying = items.findIndex((item) => item.min !== item.max);
  const tail = items.slice(varying + 1);
  const found = findKeyword(tail);
  const isMoreSpecific =
    found !== null && found.keyword.length > (findKeyword(items)?.keyword.length ?? 0) + 8;
  return varying !== -1 && isMoreSpecific ? tail.slice(found.offset) : items;
}

const SPECIAL = new Set("\\^]-[");
const quote = (code: number) => {
  const letter = String.fromCharCode(code);
  return SPECIAL.has(letter) ? `\\${letter}` : letter;
};

/** Formats a set as a character class of the pattern language. */
function writeSet(codes: readonly number[]): string {
  const [only = 0] = codes;
  if (codes.length === 127) return ".";
  if (codes.length === 1) {
    const letter = String.fromCharCode(only);
    return /[A-Za-z0-9_~:;,@#%&=<>/"'`!-]/.test(letter) ? letter : `\\${letter}`;
  }
  let text = "";
  for (let index = 0; index < codes.length; ) {
    let last = index;
    while (codes[last + 1] === (codes[last] as number) + 1) last += 1;
    const [from, to] = [codes[index] as number, codes[last] as number];
    text +=
      to - from > 1
        ? `${quote(from)}-${quote(to)}`
        : codes
            .slice(index, last + 1)
            .map(quote)
            .join("");
    index = last + 1;
  }
  return `[${text}]`;
}

function writeItems(items: readonly Item[]): string {
  return items
    .map(({ codes, min, max }) => {
      const set = writeSet(codes);
      if (min === 1 && max === 1) return set;
      return max > 999 ? `${set}{${min},}` : min === max ? `${set}{${min}}` : `${set}{${min},${max}}`;
    })
    .join("");
}

function tokenShapes(rule: GitleaksRule, regex: string): ShapeData[] {
  const shapes: ShapeData[] = [];
  for (const way of waysOf(withoutOptionalHead(readRegex(regex)))) {
    const items = withoutVaryingHead(mergeAmbiguous(way.filter((item) => item.max > 0)));
    const found = findKeyword(items);
    if (found === null) continue;
    shapes.push({
      id: rule.id,
      ...found,
      pattern: writeItems(items),
      entropy: rule.entropy ?? 0,
      bounded: /^(?:\(\?i\))?\\b/.test(regex) || found.keyword.length < 5,
    });
  }
  return shapes;
}

/** Returns a rule's patterns for the vendor's name and for the assigned value; null for other rules. */
function splitNamed(regex: string): { name: string; value: string } | null {
  const at = regex.indexOf(BETWEEN);
  const value = at === -1 ? null : VALUE.exec(regex.slice(at + BETWEEN.length))?.[1];
  if (value == null) return null;
  const name = regex.slice(regex.lastIndexOf("[\\w.-]{0,50}?", at) + "[\\w.-]{0,50}?".length, at);
  const flags = regex.startsWith("(?i)") ? "(?i)" : "";
  return { name: `(?i)${name.replaceAll("(?-i:", "(?:")}`, value: `${flags}${value.split(`${END}|`, 1)[0]}` };
}

/** Returns the letters with which all names of an alternative start. */
function stemOf(items: readonly Item[]): string {
  let stem = "";
  for (const item of items) {
    const letter = letterOf(item);
    if (letter === null) break;
    stem += letter;
  }
  return stem;
}

function namedShapes(rule: GitleaksRule, { name, value }: { name: string; value: string }): ShapeData[] {
  const stems = [...new Set(waysOf(readRegex(name)).map(stemOf))].filter((stem) => stem.length >= 3);
  return waysOf(readRegex(value)).flatMap((way) => {
    const pattern = writeItems(mergeAmbiguous(way.filter((item) => item.max > 0)));
    return stems.map((keyword) => ({ id: rule.id, keyword, pattern, entropy: rule.entropy ?? 0 }));
  });
}

/** Returns all shapes, and the rules without one. */
export function toShapes(data: GitleaksData): { shapes: ShapeData[]; leftOut: Record<string, string> } {
  const shapes = new Map<string, ShapeData>();
  const leftOut: Record<string, string> = {};
  for (const rule of data.rules) {
    const reason = OMITTED_RULES[rule.id];
    if (reason !== undefined || rule.regex === undefined) {
      leftOut[rule.id] = reason ?? "has no pattern";
      continue;
    }
    const named = splitNamed(rule.regex);
    const own = named === null ? tokenShapes(rule, rule.regex) : namedShapes(rule, named);
    // A rule with its vendor's name and also a prefix of its tokens.
    const [, second] = rule.regex.split(`${END}|`);
    if (named !== null && second !== undefined) own.push(...tokenShapes(rule, second));
    if (own.length === 0) leftOut[rule.id] = "no fixed part to look for";
    for (const shape of own) shapes.set(`${shape.offset} ${shape.keyword} ${shape.pattern}`, shape);
  }
  return { shapes: [...shapes.values()], leftOut };
}
