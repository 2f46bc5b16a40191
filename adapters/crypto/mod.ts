/**
 * Hashing and randomness: SHA-256 by `node:crypto` or, where a platform has none, by `@noble/hashes`.
 *
 * ```ts
 * import { sha256Hex } from "./mod.ts";
 *
 * console.log(sha256Hex("abc").slice(0, 8)); // "ba7816bf"
 * ```
 */
export { createRandomBytes, sha256, sha256Hex } from "./node-crypto.ts";
