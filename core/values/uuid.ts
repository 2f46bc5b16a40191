import type { Millis } from "./time.ts";

const hex = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));

/**
 * Returns a version 7 UUID (RFC 9562, section 5.7): 48 bits of time in milliseconds and 74 random bits. `random` holds at
 * least ten random bytes and is not modified.
 */
export function uuidV7(now: Millis, random: Uint8Array): string {
  if (random.length < 10) throw new RangeError(`uuidV7 needs 10 random bytes: ${random.length}`);
  const time = Math.trunc(now).toString(16).padStart(12, "0").slice(-12);
  const at = (index: number) => hex[random[index] as number] as string;
  const version = hex[0x70 | ((random[0] as number) & 0x0f)];
  const variant = hex[0x80 | ((random[2] as number) & 0x3f)];
  return (
    `${time.slice(0, 8)}-${time.slice(8)}-${version}${at(1)}-${variant}${at(3)}-` +
    `${at(4)}${at(5)}${at(6)}${at(7)}${at(8)}${at(9)}`
  );
}

/** Whether a text is a UUID of any version (RFC 9562, section 4). */
export function isUuid(text: string): boolean {
  return /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i.test(text);
}
