const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/**
 * Whether the bytes are UTF-8 as the Unicode Standard defines it (table 3-7, "Well-Formed UTF-8 Byte Sequences"): no
 * overlong form, no surrogate, nothing above U+10FFFF, nothing cut off.
 */
export function isUtf8(bytes: Uint8Array): boolean {
  return decodeStrictUtf8(bytes) !== null;
}

/** The text of UTF-8 bytes, a byte order mark kept; `null` where they are none. */
export function decodeStrictUtf8(bytes: Uint8Array): string | null {
  try {
    return decoder.decode(bytes);
  } catch {
    return null;
  }
}
