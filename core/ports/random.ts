/** Bytes that nobody can guess. Each call gives fresh ones, which the caller may keep. */
export type RandomBytes = (count: number) => Uint8Array;
