import type { Sha256 } from "./hash.ts";

/** SHA-256 of the text's UTF-8 bytes in lower-case hex: 64 digits. */
export function hashText(text: string, sha256: Sha256): string {
  let hex = "";
  for (const byte of sha256(new TextEncoder().encode(text))) hex += byte.toString(16).padStart(2, "0");
  return hex;
}
