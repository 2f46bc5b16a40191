const encoder = new TextEncoder();

/** A text cut to a number of bytes. */
export interface CutText {
  readonly text: string;
  /** UTF-8 bytes of `text`. */
  readonly bytes: number;
  readonly truncated: boolean;
}

/**
 * Cuts a text to at most `maxBytes` bytes of UTF-8, on a character's boundary: no code point is split. A lone surrogate
 * counts as U+FFFD, three bytes, because that is how it is encoded.
 */
export function cutUtf8(text: string, maxBytes: number): CutText {
  // `encodeInto()` stops before the first code point that no longer fits (Encoding Standard, section 8.2).
  const { read, written } = encoder.encodeInto(text, new Uint8Array(Math.min(maxBytes, text.length * 3)));
  const truncated = read < text.length;
  return { text: truncated ? text.slice(0, read) : text, bytes: written, truncated };
}

/** Bytes that the text takes in UTF-8. */
export function utf8Length(text: string): number {
  let bytes = text.length;
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    if (code < 0x80) continue;
    bytes += code < 0x800 ? 1 : 2;
    // A pair takes four bytes: two units counted above, two more. A lone half is encoded as U+FFFD, three bytes.
    if (code >= 0xd800 && code < 0xdc00 && (text.charCodeAt(index + 1) & 0xfc00) === 0xdc00) index += 1;
  }
  return bytes;
}
