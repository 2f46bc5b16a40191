/**
 * Finds which of several JSON keys an event contains, without parsing it. Bit `n` of the result stands for the key at index
 * `n`. A key with the value `null` or `false` does not count. Text inside a string does not match, because its quotes would
 * be escaped, but a string value equal to a key does (`"type":"error"`). Keys with escaped letters are not found; no provider
 * sends them.
 */
export type KeyFinder = (bytes: Uint8Array) => number;

const COLON = 0x3a;
const LETTER_F = 0x66;
const LETTER_N = 0x6e;

/**
 * Creates a finder for at most 30 keys. It advances by the length of the shortest key (Horspool's search for several
 * patterns), so that an event without any of the keys takes a fraction of a step per byte.
 */
export function createKeyFinder(keys: readonly string[]): KeyFinder {
  const encoder = new TextEncoder();
  const patterns = keys.map((key) => encoder.encode(`"${key}"`));
  const window = Math.min(...patterns.map((pattern) => pattern.length));
  const shifts = new Uint8Array(256).fill(window);
  /** Bit `n` is set for the last byte in the window of pattern `n`. */
  const lasts = new Int32Array(256);
  patterns.forEach((pattern, index) => {
    for (let at = 0; at < window - 1; at++) {
      const byte = pattern[at] as number;
      shifts[byte] = Math.min(shifts[byte] as number, window - 1 - at);
    }
    const last = pattern[window - 1] as number;
    lasts[last] = (lasts[last] as number) | (1 << index);
  });

  return (bytes) => {
    let found = 0;
    let at = window - 1;
    while (at < bytes.length) {
      const byte = bytes[at] as number;
      const candidates = lasts[byte] as number;
      if (candidates !== 0) {
        for (let index = 0; index < patterns.length; index++) {
          if ((candidates & (1 << index)) === 0) continue;
          const pattern = patterns[index] as Uint8Array;
          const start = at - window + 1;
          if (matchesAt(bytes, start, pattern) && hasValue(bytes, start + pattern.length))
            found |= 1 << index;
        }
      }
      at += shifts[byte] as number;
    }
    return found;
  };
}

function matchesAt(bytes: Uint8Array, start: number, pattern: Uint8Array): boolean {
  for (let at = 0; at < pattern.length; at++) if (bytes[start + at] !== pattern[at]) return false;
  return true;
}

function hasValue(bytes: Uint8Array, after: number): boolean {
  let at = skipBlanks(bytes, after);
  if (bytes[at] !== COLON) return true;
  at = skipBlanks(bytes, at + 1);
  return bytes[at] !== LETTER_N && bytes[at] !== LETTER_F;
}

function skipBlanks(bytes: Uint8Array, from: number): number {
  let at = from;
  while (bytes[at] === 0x20 || bytes[at] === 0x0a || bytes[at] === 0x0d || bytes[at] === 0x09) at++;
  return at;
}
