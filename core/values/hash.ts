/**
 * A function that returns the 32-byte SHA-256 of the bytes. Adapters provide it, because the core contains no hash
 * function.
 */
export type Sha256 = (bytes: Uint8Array) => Uint8Array;
