import { Buffer } from "node:buffer";
import { hash, randomFillSync } from "node:crypto";
import type { Sha256 } from "../../core/values/hash.ts";

/** Computes SHA-256 with `node:crypto`. Node takes twice as long to create a buffer for each hash as to format and parse its digits. */
export const sha256: Sha256 = (bytes) => Buffer.from(hash("sha256", bytes, "hex"), "hex");

/** Returns the SHA-256 of a text's UTF-8 bytes in lower-case hex. */
export function sha256Hex(text: string): string {
  return hash("sha256", text, "hex");
}

/**
 * Creates a source of random bytes. It requests many bytes from the system at once, because each request takes
 * microseconds.
 */
export function createRandomBytes(poolBytes = 4096): (count: number) => Uint8Array {
  let pool = new Uint8Array(0);
  let at = 0;
  return (count) => {
    if (at + count > pool.length) {
      // A new pool, because earlier results are views into the old one.
      pool = randomFillSync(new Uint8Array(Math.max(poolBytes, count)));
      at = 0;
    }
    at += count;
    return pool.subarray(at - count, at);
  };
}
