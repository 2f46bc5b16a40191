/** SHA-256 of the bytes, 32 bytes. The core does not hash by itself: an adapter passes the function in. */
export type Sha256 = (bytes: Uint8Array) => Uint8Array;
