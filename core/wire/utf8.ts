const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/**
 * Whether the bytes are well-formed UTF-8 (Unicode Standard, table 3-7, "Well-Formed UTF-8 Byte Sequences"): no overlong
 * forms, no surrogates, nothing above U+10FFFF, no truncated sequences.
 */
export function isUtf8(bytes: Uint8Array): boolean {
  return decodeStrictUtf8(bytes) !== null;
}

/** Decodes UTF-8 bytes and keeps a byte order mark. Returns `null` if the bytes are not well-formed UTF-8. */
export function decodeStrictUtf8(bytes: Uint8Array): string | null {
  try {
    return decoder.decode(bytes);
  } catch {
    return null;
  }
}
