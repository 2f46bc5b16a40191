/** What was cut off at the end of one push and waits for the next. It has no ceiling of its own: its owner minds that. */
export interface ByteStore {
  readonly length: number;
  /** Adds `bytes[from, to)` at the end. */
  append(bytes: Uint8Array, from: number, to: number): void;
  /** All that is held, as a view valid until the next `append`. */
  view(): Uint8Array;
  /** Forgets the bytes. A view taken before stays readable until the next `append`. */
  clear(): void;
}

/** Memory that an emptied store keeps for the next cut, in bytes: thousands of idle streams each hold this much. */
const KEPT_BYTES = 4096;

/** Creates an empty store. It takes no memory until something is appended, and gives large memory back when cleared. */
export function createByteStore(): ByteStore {
  let buffer = new Uint8Array(0);
  let length = 0;
  return {
    get length() {
      return length;
    },
    append(bytes, from, to) {
      const needed = length + to - from;
      if (needed > buffer.length) {
        const grown = new Uint8Array(Math.max(needed, 2 * buffer.length, 256));
        grown.set(buffer.subarray(0, length));
        buffer = grown;
      }
      buffer.set(bytes.subarray(from, to), length);
      length = needed;
    },
    view: () => buffer.subarray(0, length),
    clear() {
      if (buffer.length > KEPT_BYTES) buffer = new Uint8Array(0);
      length = 0;
    },
  };
}
