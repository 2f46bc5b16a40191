/** Returns cryptographically random bytes in a new array. */
export type RandomBytes = (count: number) => Uint8Array;
