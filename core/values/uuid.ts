import type { Millis } from "./time.ts";

/** The codes of the hexadecimal digits. */
const DIGITS = Array.from("0123456789abcdef", (digit) => digit.charCodeAt(0));

/** Where the two digits of each byte are in a UUID. */
const PLACES = [0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34];

/** The codes of a UUID. They are reused, since joining 20 strings takes ten times the memory. */
const codes: number[] = Array.from("00000000-0000-0000-0000-000000000000", (digit) => digit.charCodeAt(0));

function writeByte(index: number, byte: number): void {
  const place = PLACES[index] as number;
  codes[place] = DIGITS[byte >> 4] as number;
  codes[place + 1] = DIGITS[byte & 0x0f] as number;
}

/**
 * Returns a version 7 UUID (RFC 9562, section 5.7): 48 bits of time in milliseconds and 74 random bits. `random` holds at
 * least ten random bytes and is not modified.
 */
export function uuidV7(now: Millis, random: Uint8Array): string {
  if (random.length < 10) throw new RangeError(`uuidV7 needs 10 random bytes: ${random.length}`);
  let time = Math.trunc(now);
  for (let index = 5; index >= 0; index -= 1) {
    writeByte(index, time % 256);
    time = Math.floor(time / 256);
  }
  for (let index = 0; index < 10; index += 1) writeByte(6 + index, random[index] as number);
  writeByte(6, 0x70 | ((random[0] as number) & 0x0f));
  writeByte(8, 0x80 | ((random[2] as number) & 0x3f));
  return String.fromCharCode.apply(null, codes);
}

/** Returns the time of a version 7 UUID. Of another text it is meaningless, and can be NaN. */
export function timeOfUuidV7(id: string): Millis {
  return Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16);
}

/** Whether a text is a UUID of any version (RFC 9562, section 4). */
export function isUuid(text: string): boolean {
  return /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i.test(text);
}
