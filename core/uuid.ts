import type { Millis } from "./time.ts";

const hex = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));

/**
 * A UUID of version 7 (RFC 9562, section 5.7): 48 bits of time in milliseconds, 74 bits of randomness.
 * `random` gives ten random bytes and is not changed.
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
