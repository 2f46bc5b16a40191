/**
 * Whether the bytes are UTF-8 as the Unicode Standard defines it (table 3-7, "Well-Formed UTF-8 Byte Sequences"): no
 * overlong form, no surrogate, nothing above U+10FFFF, nothing cut off.
 */
export function isUtf8(bytes: Uint8Array): boolean {
  const { length } = bytes;
  let at = 0;
  while (at < length) {
    const lead = bytes[at] as number;
    at += 1;
    if (lead < 0x80) continue;
    if (lead < 0xc2 || lead > 0xf4) return false;
    const following = lead < 0xe0 ? 1 : lead < 0xf0 ? 2 : 3;
    if (at + following > length) return false;
    const second = bytes[at] as number;
    const low = lead === 0xe0 ? 0xa0 : lead === 0xf0 ? 0x90 : 0x80;
    const high = lead === 0xed ? 0x9f : lead === 0xf4 ? 0x8f : 0xbf;
    if (second < low || second > high) return false;
    for (let more = 1; more < following; more += 1) {
      if (((bytes[at + more] as number) & 0xc0) !== 0x80) return false;
    }
    at += following;
  }
  return true;
}

/** The text of UTF-8 bytes, a byte order mark kept; `null` where they are none. */
export function decodeStrictUtf8(bytes: Uint8Array): string | null {
  return isUtf8(bytes) ? new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes) : null;
}
