import type { Sha256 } from "./hash.ts";

/** Returns the SHA-256 of the text's UTF-8 bytes as 64 lower-case hex digits. */
export function hashText(text: string, sha256: Sha256): string {
  return hashBytes(new TextEncoder().encode(text), sha256);
}

/** Returns the SHA-256 of the bytes as 64 lower-case hex digits. */
export function hashBytes(bytes: Uint8Array, sha256: Sha256): string {
  return encodeHex(sha256(bytes));
}

/** Encodes bytes as lower-case hex. */
export function encodeHex(bytes: Uint8Array): string {
  let hex = "";
  for (const byte of bytes) hex += byte.toString(16).padStart(2, "0");
  return hex;
}
