const encoder = new TextEncoder();

/** A text truncated to a number of bytes. */
export interface TruncatedText {
  readonly text: string;
  /** The length of `text` in UTF-8 bytes. */
  readonly bytes: number;
  readonly truncated: boolean;
}

/**
 * Truncates a text to at most `maxBytes` bytes of UTF-8 without splitting a code point. An unpaired surrogate counts as
 * three bytes, because it is encoded as U+FFFD.
 */
export function truncateText(text: string, maxBytes: number): TruncatedText {
  // `encodeInto()` stops before the first code point that no longer fits (Encoding Standard, section 8.2).
  const { read, written } = encoder.encodeInto(text, new Uint8Array(Math.min(maxBytes, text.length * 3)));
  const truncated = read < text.length;
  return { text: truncated ? text.slice(0, read) : text, bytes: written, truncated };
}
