import { createHash, hash, randomFillSync } from "node:crypto";
import type { Sha256 } from "../../core/hash.ts";

/** SHA-256 by `node:crypto`. */
export const sha256: Sha256 = (bytes) => createHash("sha256").update(bytes).digest();

/** SHA-256 of the text's UTF-8 bytes, in lower-case hex. */
export function sha256Hex(text: string): string {
  return hash("sha256", text, "hex");
}

/** A source of random bytes that asks the system for many at a time, since each asking costs microseconds. */
export function createRandomBytes(poolBytes = 4096): (count: number) => Uint8Array {
  let pool = new Uint8Array(0);
  let at = 0;
  return (count) => {
    if (at + count > pool.length) {
      // A fresh pool, so that bytes given away stay as they are.
      pool = randomFillSync(new Uint8Array(Math.max(poolBytes, count)));
      at = 0;
    }
    at += count;
    return pool.subarray(at - count, at);
  };
}
