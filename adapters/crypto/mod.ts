/**
 * Hashing and randomness. SHA-256 uses `node:crypto`, or `@noble/hashes` on platforms without it.
 *
 * ```ts
 * import { sha256Hex } from "./mod.ts";
 *
 * console.log(sha256Hex("abc").slice(0, 8)); // "ba7816bf"
 * ```
 */
export { createRandomBytes, sha256, sha256Hex } from "./node-crypto.ts";
