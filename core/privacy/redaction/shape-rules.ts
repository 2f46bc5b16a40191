import { GITLEAKS_SHAPES } from "./gitleaks-shapes.data.ts";
import { createKeywordScan, type KeywordScan } from "./keyword-scan.ts";
import { ALPHANUMERIC, characterSet, type RedactionRule, runEnd, WORD } from "./rule.ts";
import { compileShape, type LongRuns, MAX_RUN, matchEnd, type Shape, type ShapeData } from "./shape.ts";
import { VENDOR_SHAPES } from "./vendor-shapes.ts";

/** Shortest keyword that identifies a credential which the end of the text cuts off. */
const MIN_CUT_KEYWORD = 5;

/** Returns a text's Shannon entropy in bits per character. */
export function shannonEntropy(text: string): number {
  const counts = new Map<string, number>();
  for (const character of text) counts.set(character, (counts.get(character) ?? 0) + 1);
  let bits = 0;
  for (const count of counts.values()) bits -= (count / text.length) * Math.log2(count / text.length);
  return bits;
}

/** Matches from a vendor's name to the value assigned to it, as in gitleaks. */
const ASSIGNMENT = /[ \t\w.-]{0,20}[\s'"\])}]{0,3}(?:=>|:{1,3}=|\?=|\|\||[=>:,])[`'"\s=>]{0,5}/y;

const BASE64_SYMBOL = characterSet("+/");

/** Whether a range lies between two symbols that only base64 has: data that happens to look like a token. */
const isWithinBase64 = (text: string, start: number, end: number): boolean =>
  BASE64_SYMBOL[text.charCodeAt(start - 1)] === 1 && BASE64_SYMBOL[text.charCodeAt(end)] === 1;

interface Found {
  readonly start: number;
  readonly end: number;
}

/** Finds a credential by its keyword, which ends at `keywordEnd`. */
function findToken(text: string, shape: Shape, keywordEnd: number, longRuns: LongRuns): Found | null {
  const start = keywordEnd - shape.keyword.length - (shape.offset as number);
  const mayBeCut = shape.keyword.length >= MIN_CUT_KEYWORD;
  if (shape.bounded === true && ALPHANUMERIC[text.charCodeAt(start - 1)] === 1) return null;
  let end = start < 0 ? -1 : matchEnd(text, start, shape, mayBeCut ? keywordEnd : text.length, longRuns);
  if (end === -1) return null;
  if (shape.bounded === true && (WORD[text.charCodeAt(end)] === 1 || isWithinBase64(text, start, end)))
    return null;
  // An unbounded shape extends to the end of the run.
  if (shape.bounded !== true) end = runEnd(text, end, shape.tail, MAX_RUN);
  return { start, end };
}

/** Finds the value assigned to a vendor's name that ends at `nameEnd`. */
function findAssigned(text: string, shape: Shape, nameEnd: number, longRuns: LongRuns): Found | null {
  ASSIGNMENT.lastIndex = nameEnd;
  if (!ASSIGNMENT.test(text)) return null;
  const start = ASSIGNMENT.lastIndex;
  const end = matchEnd(text, start, shape, text.length, longRuns);
  const isWhole = end !== -1 && WORD[text.charCodeAt(end)] !== 1 && shape.tail[text.charCodeAt(end)] !== 1;
  return isWhole && /\d/.test(text.slice(start, end)) ? { start, end } : null;
}

/** Discord bot tokens: an id in base64, a time and a signature. Only the dots are fixed. */
const DISCORD = /(?<![\w-])[MNO][\w-]{23,27}\.[\w-]{6}\.[\w-]{27,40}/g;

interface ShapeScan {
  readonly scan: KeywordScan;
  /** Returns a keyword's shapes, compiled when the keyword is first found. */
  shapesOf(keyword: number): readonly Shape[];
}

function createShapeScan(): ShapeScan {
  const byKeyword = Map.groupBy([...GITLEAKS_SHAPES, ...VENDOR_SHAPES], (shape) => shape.keyword);
  const data = [...byKeyword.values()];
  const compiled: (readonly Shape[])[] = [];
  return {
    scan: createKeywordScan([...byKeyword.keys()]),
    shapesOf: (keyword) => (compiled[keyword] ??= (data[keyword] as ShapeData[]).map(compileShape)),
  };
}

/** Created by the first search and shared by all: creating it takes longer than searching a short text. */
let shapeScan: ShapeScan | undefined;

/** `service_key`: finds the credentials of about 200 services in one pass. */
export const serviceKeyRule: RedactionRule = {
  name: "service_key",
  yields: true,
  find(text, report) {
    shapeScan ??= createShapeScan();
    const { scan, shapesOf } = shapeScan;
    // Where each shape's last match ended: a keyword inside it starts no other match.
    const matchedTo = new Map<Shape, number>();
    const longRuns: LongRuns = new Map();
    scan(text, (keyword, keywordEnd) => {
      for (const shape of shapesOf(keyword)) {
        if (keywordEnd <= (matchedTo.get(shape) ?? 0)) continue;
        const find = shape.offset === undefined ? findAssigned : findToken;
        const found = find(text, shape, keywordEnd, longRuns);
        if (found === null) continue;
        matchedTo.set(shape, found.end);
        if (shannonEntropy(text.slice(found.start, found.end)) >= shape.entropy)
          report(found.start, found.end);
      }
    });
    for (const { 0: token, index } of text.matchAll(DISCORD)) report(index, index + token.length);
  },
};
