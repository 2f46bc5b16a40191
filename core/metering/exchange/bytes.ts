/** ASCII codes used by line-oriented protocols. */
export const HTAB = 0x09;
export const LF = 0x0a;
export const CR = 0x0d;
export const SPACE = 0x20;
export const COLON = 0x3a;
export const DEL = 0x7f;

/** An empty byte array. */
export const NO_BYTES: Uint8Array = new Uint8Array(0);

/** Returns `bytes[from, to)` without copying; `bytes` itself if that is the whole array. */
export function viewOf(bytes: Uint8Array, from: number, to: number): Uint8Array {
  return from === 0 && to === bytes.length ? bytes : bytes.subarray(from, to);
}

let utf8: InstanceType<typeof TextDecoder> | undefined;

/** Decodes UTF-8. Invalid bytes become U+FFFD, and a byte order mark is kept. */
export function decodeUtf8(bytes: Uint8Array): string {
  utf8 ??= new TextDecoder("utf-8", { ignoreBOM: true });
  return utf8.decode(bytes);
}

/** How many bytes are decoded at once: one by one, 4 MiB take 200 MB for a moment. */
const LATIN1_STEP = 4_096;

/**
 * Decodes ISO 8859-1: one character per byte, so that text and bytes share indexes. Nearly every head is ASCII, which the
 * UTF-8 decoder reads many times faster than a loop. If the decoded text is as long as the bytes and has no U+FFFD, the
 * bytes were ASCII.
 */
export function decodeLatin1(bytes: Uint8Array): string {
  const ascii = decodeUtf8(bytes);
  if (ascii.length === bytes.length && !ascii.includes("\ufffd")) return ascii;
  let text = "";
  for (let at = 0; at < bytes.length; at += LATIN1_STEP)
    text += String.fromCharCode(...bytes.subarray(at, at + LATIN1_STEP));
  return text;
}

/** Encodes text as ISO 8859-1, the inverse of `decodeLatin1`. Throws a RangeError for characters above U+00FF. */
export function encodeLatin1(text: string): Uint8Array {
  const bytes = new Uint8Array(text.length);
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code > 0xff) throw new RangeError(`Cannot encode text as ISO 8859-1: code unit ${code} at ${at}`);
    bytes[at] = code;
  }
  return bytes;
}
