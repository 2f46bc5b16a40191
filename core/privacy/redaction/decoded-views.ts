import { composeViews, type TextView, unescapedView, ViewBuilder } from "./text-view.ts";

/**
 * Matches an encoded or invisible character: percent-encoding, HTML entities, `\x41`, terminal sequences (ECMA-48), NUL (as
 * in UTF-16), zero-width and direction characters, and tag characters.
 */
const ENCODED = new RegExp(
  [
    "%([0-9a-f]{2})|&#(\\d{1,7});?|&#x([0-9a-f]{1,6});?",
    "&(amp|lt|gt|quot|apos|nbsp|colon|equals|sol|lowbar|hyphen|period);|\\\\x([0-9a-f]{2})",
    "\\u001B\\[[0-?]{0,32}[ -/]{0,4}[@-~]|\\u001B\\][^\\u0007\\u001B]{0,256}(?:\\u0007|\\u001B\\\\)|\\u009B[0-?]{0,32}[@-~]",
    "[\\0\\u00AD\\u034F\\u061C\\u115F\\u1160\\u17B4\\u17B5\\u180B-\\u180E\\u200B-\\u200F\\u202A-\\u202E\\u2060-\\u206F\\u3164\\uFE00-\\uFE0F\\uFEFF]",
    "\\uDB40[\\uDC00-\\uDDEF]",
  ].join("|"),
  "gi",
);
const ENTITIES: Readonly<Record<string, string>> = {
  ...{ amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", nbsp: " ", colon: ":", equals: "=", sol: "/" },
  ...{ lowbar: "_", hyphen: "-", period: "." },
};
/** Characters on each side of an encoded character that belong to the view. */
const WINDOW = 512;

/** Returns the character code that a match encodes, or null if the match is invisible and is dropped. */
function decodeCharacter([, percent, decimal, hex, entity, byte]: RegExpExecArray): number | null {
  const hexadecimal = percent ?? hex ?? byte;
  if (hexadecimal !== undefined) return Number.parseInt(hexadecimal, 16);
  if (decimal !== undefined) return Number(decimal);
  return entity === undefined ? null : (ENTITIES[entity.toLowerCase()] as string).charCodeAt(0);
}

/**
 * Returns the text around encoded and invisible characters, with the encoded ones decoded and the invisible ones removed.
 * Returns null if the text has none.
 */
function decodedCharacterView(inner: TextView): TextView | null {
  const { text } = inner;
  ENCODED.lastIndex = 0;
  let match = ENCODED.exec(text);
  if (match === null) return null;
  const builder = new ViewBuilder(text, text.length + Math.ceil(text.length / WINDOW) + 2);
  let index = Math.max(0, match.index - WINDOW);
  let windowEnd = index;
  const copyTo = (end: number): void => {
    for (; index < end; index += 1) builder.append(text.charCodeAt(index), index, 1);
  };
  for (; match !== null; match = ENCODED.exec(text)) {
    if (match.index > windowEnd + WINDOW) {
      copyTo(Math.min(windowEnd, text.length));
      builder.append(0x0a, index, 0);
      index = match.index - WINDOW;
    }
    copyTo(match.index);
    const code = decodeCharacter(match);
    if (code !== null) builder.append(code, index, match[0].length);
    index = ENCODED.lastIndex;
    windowEnd = index + WINDOW;
  }
  copyTo(Math.min(windowEnd, text.length));
  if (windowEnd < text.length) builder.append(0x0a, index, 0);
  return composeViews(builder.build(), inner);
}

/** A run of base64 or base64url, possibly wrapped over lines, or of hexadecimal digits. */
const EMBEDDED = /[A-Za-z0-9+/_-]{24,}(?:[ \r]?\n[ \t]{0,20}[A-Za-z0-9+/_-]{16,})*/g;
const HEX_RUN = /[0-9a-f]{32,}/gi;
/** Shortest stretch of printable characters that counts as text. */
const MIN_STRETCH = 12;
const NOT_BASE64 = 255;

const SEXTETS = new Uint8Array(128).fill(NOT_BASE64);
for (const [value, letter] of [
  ..."ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
].entries())
  SEXTETS[letter.charCodeAt(0)] = value;
SEXTETS["-".charCodeAt(0)] = 62;
SEXTETS["_".charCodeAt(0)] = 63;

/** Collects decoded bytes and discards all that are not part of a stretch of text. */
class StretchCollector {
  readonly #builder: ViewBuilder;
  #from: number;
  /** Decoded bytes that are text. */
  textBytes = 0;

  constructor(builder: ViewBuilder) {
    this.#builder = builder;
    this.#from = builder.size;
  }

  add(byte: number, start: number, length: number): void {
    if (byte === 0) return;
    if ((byte >= 0x20 && byte < 0x7f) || byte === 0x0a || byte === 0x0d || byte === 0x09) {
      this.#builder.append(byte, start, length);
    } else this.end();
  }

  /** Ends a stretch. The space and line feed after it mark that it is complete, not cut off. */
  end(): void {
    const length = this.#builder.size - this.#from;
    if (length < MIN_STRETCH) this.#builder.truncate(this.#from);
    else {
      this.textBytes += length;
      this.#builder.append(0x20, 0, 0);
      this.#builder.append(0x0a, 0, 0);
    }
    this.#from = this.#builder.size;
  }
}

/** Decodes base64 from one alignment and returns the share of the bytes that is text. */
function decodeBase64(text: string, start: number, end: number, builder: ViewBuilder): number {
  const stretches = new StretchCollector(builder);
  let bits = 0;
  let bitCount = 0;
  let first = start;
  let bytes = 0;
  for (let index = start; index < end; index += 1) {
    const sextet = SEXTETS[text.charCodeAt(index)] as number;
    if (sextet === NOT_BASE64) continue;
    bits = (bits << 6) | sextet;
    bitCount += 6;
    if (bitCount >= 8) {
      bitCount -= 8;
      bytes += 1;
      stretches.add((bits >> bitCount) & 0xff, first, index + 1 - first);
      bits &= (1 << bitCount) - 1;
      first = bitCount === 0 ? index + 1 : index;
    }
  }
  stretches.end();
  return stretches.textBytes / bytes;
}

function decodeHex(text: string, start: number, end: number, builder: ViewBuilder): void {
  const stretches = new StretchCollector(builder);
  for (let index = start; index + 1 < end; index += 2) {
    stretches.add(Number.parseInt(text.slice(index, index + 2), 16), index, 2);
  }
  stretches.end();
}

/** Share of text from which no other alignment is tried. */
const MIN_TEXT_SHARE = 0.5;

/** Returns a view of the text that is encoded in base64 or hexadecimal inside another text, or null if there is none. */
function embeddedView(inner: TextView): TextView | null {
  const { text } = inner;
  EMBEDDED.lastIndex = 0;
  let match = EMBEDDED.exec(text);
  if (match === null) return null;
  // Upper bound: four base64 alignments at 3/4 each, two hexadecimal ones at 1/2 each, and the ends of stretches.
  const builder = new ViewBuilder(text, Math.ceil(text.length * 4.2) + 16);
  for (; match !== null; match = EMBEDDED.exec(text)) {
    const { 0: run, index: start } = match;
    for (let offset = 0; offset < 4; offset += 1) {
      if (decodeBase64(text, start + offset, start + run.length, builder) >= MIN_TEXT_SHARE) break;
    }
    for (const { 0: digits, index } of run.matchAll(HEX_RUN)) {
      for (let offset = 0; offset <= digits.length % 2; offset += 1) {
        decodeHex(text, start + index + offset, start + index + digits.length, builder);
      }
    }
  }
  if (builder.size > 0) return composeViews(builder.build(), inner);
  builder.discard();
  return null;
}

/** Levels of nested encoding that are searched. */
const MAX_DEPTH = 2;

/** Returns every decoded reading of a view's text. The view itself is not included. */
export function decodedViews(view: TextView): TextView[] {
  const plain = decodedCharacterView(view);
  const views: TextView[] = plain === null ? [] : [plain];
  let outer: readonly TextView[] = [view, ...views];
  for (let depth = 0; depth < MAX_DEPTH; depth += 1) {
    const found: TextView[] = [];
    for (const each of outer) {
      const embedded = embeddedView(each);
      if (embedded !== null) found.push(composeViews(unescapedView(embedded.text), embedded));
    }
    views.push(...found);
    outer = found;
  }
  return views;
}
