import type { Sha256 } from "./hash.ts";
import { hashBytes } from "./hash-text.ts";
import { joinBytes } from "./join-bytes.ts";

/** SHA-256's block, bytes. Source: FIPS 180-4, section 5.2.1. */
const BLOCK_BYTES = 64;

/** Computes HMAC-SHA-256 (RFC 2104) in lower-case hex, for a key of at most one block. */
export function hmacSha256(key: Uint8Array, message: Uint8Array, sha256: Sha256): string {
  if (key.length > BLOCK_BYTES)
    throw new RangeError(`the key has more than ${BLOCK_BYTES} bytes: ${key.length}`);
  const pad = (byte: number) => Uint8Array.from({ length: BLOCK_BYTES }, (_, at) => (key[at] ?? 0) ^ byte);
  return hashBytes(joinBytes([pad(0x5c), sha256(joinBytes([pad(0x36), message]))]), sha256);
}

/** Reads bytes in hexadecimal. */
export function fromHex(hex: string): Uint8Array {
  return Uint8Array.from({ length: hex.length / 2 }, (_, at) =>
    Number.parseInt(hex.slice(2 * at, 2 * at + 2), 16),
  );
}
