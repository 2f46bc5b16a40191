const STANDARD = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const URL_SAFE = `${STANDARD.slice(0, 62)}-_`;
const PAD = 0x3d;
const NONE = 0xff;

/** Maps character codes to digit values; 255 marks a character outside the alphabet. */
function valuesOf(alphabet: string): Uint8Array {
  const values = new Uint8Array(256).fill(NONE);
  for (let value = 0; value < 64; value += 1) values[alphabet.charCodeAt(value)] = value;
  return values;
}

/**
 * Decodes Base64 (RFC 4648, section 4) strictly: correct padding, no line breaks, no URL-safe alphabet and no stray
 * trailing bits (section 3.5), so that each value has exactly one encoding. Returns `null` for any other text.
 */
export function decodeBase64(text: string): Uint8Array | null {
  if (text.length % 4 !== 0) return null;
  const padding = text.endsWith("==") ? 2 : text.endsWith("=") ? 1 : 0;
  return decodeDigits(text, text.length - padding, STANDARD);
}

/** Encodes bytes as Base64 with padding (RFC 4648, section 4). */
export function encodeBase64(bytes: Uint8Array): string {
  return encodeDigits(bytes, STANDARD, true);
}

/** Decodes unpadded URL-safe Base64 (RFC 4648, section 5) just as strictly. */
export function decodeBase64Url(text: string): Uint8Array | null {
  return text.length % 4 === 1 ? null : decodeDigits(text, text.length, URL_SAFE);
}

/** Encodes bytes as unpadded URL-safe Base64 (RFC 4648, section 5). */
export function encodeBase64Url(bytes: Uint8Array): string {
  return encodeDigits(bytes, URL_SAFE, false);
}

function decodeDigits(text: string, digits: number, alphabet: string): Uint8Array | null {
  const values = valuesOf(alphabet);
  const bytes = new Uint8Array((digits * 6) >> 3);
  let held = 0;
  let heldBits = 0;
  let to = 0;
  for (let at = 0; at < digits; at += 1) {
    const code = text.charCodeAt(at);
    const value = code > 0xff ? NONE : (values[code] as number);
    if (value === NONE) return null;
    held = (held << 6) | value;
    heldBits += 6;
    if (heldBits >= 8) {
      heldBits -= 8;
      bytes[to++] = held >> heldBits;
      held &= (1 << heldBits) - 1;
    }
  }
  return held === 0 ? bytes : null;
}

function encodeDigits(bytes: Uint8Array, alphabet: string, padded: boolean): string {
  const digits = Math.ceil((bytes.length * 8) / 6);
  const codes = new Uint8Array(padded ? Math.ceil(bytes.length / 3) * 4 : digits).fill(PAD);
  for (let at = 0, to = 0; at < bytes.length; at += 3) {
    const three =
      ((bytes[at] as number) << 16) | (Number(bytes[at + 1] ?? 0) << 8) | Number(bytes[at + 2] ?? 0);
    for (let shift = 18; shift >= 0 && to < digits; shift -= 6) {
      codes[to++] = alphabet.charCodeAt((three >> shift) & 63);
    }
  }
  return new TextDecoder().decode(codes);
}
