/** The bytes that line-oriented protocols turn on. */
export const HTAB = 0x09;
export const LF = 0x0a;
export const CR = 0x0d;
export const SPACE = 0x20;
export const COLON = 0x3a;
export const DEL = 0x7f;

/** No bytes at all. */
export const NO_BYTES: Uint8Array = new Uint8Array(0);

/** The part of `bytes` from `from` up to `to`, without a copy; `bytes` itself where that is all of it. */
export function viewOf(bytes: Uint8Array, from: number, to: number): Uint8Array {
  return from === 0 && to === bytes.length ? bytes : bytes.subarray(from, to);
}

let utf8: InstanceType<typeof TextDecoder> | undefined;

/** Bytes as UTF-8 text; a byte that is none becomes U+FFFD, and a byte order mark is kept. */
export function decodeUtf8(bytes: Uint8Array): string {
  utf8 ??= new TextDecoder("utf-8", { ignoreBOM: true });
  return utf8.decode(bytes);
}

/**
 * Bytes as ISO 8859-1: one character for each byte, so that an index into the text is an index into the bytes.
 * Nearly every head is ASCII, which the UTF-8 decoder reads many times faster than a loop could. Text that has as many
 * units as there were bytes holds no sequence of several bytes: without U+FFFD among them, it was ASCII.
 */
export function decodeLatin1(bytes: Uint8Array): string {
  const ascii = decodeUtf8(bytes);
  if (ascii.length === bytes.length && !ascii.includes("\ufffd")) return ascii;
  let text = "";
  for (let at = 0; at < bytes.length; at++) text += String.fromCharCode(bytes[at]!);
  return text;
}

/** Text as ISO 8859-1, the reverse of `decodeLatin1`; a character that has no such byte is a RangeError. */
export function encodeLatin1(text: string): Uint8Array {
  const bytes = new Uint8Array(text.length);
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code > 0xff) throw new RangeError(`Cannot encode text as ISO 8859-1: code unit ${code} at ${at}`);
    bytes[at] = code;
  }
  return bytes;
}
