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
