/** Memory that several stores share. */
export interface ByteQuota {
  /** Reserves memory. Returns false, and reserves nothing, if too little is left. */
  take(bytes: number): boolean;
  /** Returns reserved memory. */
  release(bytes: number): void;
}

/** A buffer for an item that continues in the next push. Its owner limits the size. */
export interface ByteStore {
  readonly length: number;
  /** Appends `bytes[from, to)`. Returns false, and appends nothing, if the quota has too little memory left. */
  append(bytes: Uint8Array, from: number, to: number): boolean;
  /** Returns the stored bytes as a view that is valid until the next `append`. */
  view(): Uint8Array;
  /** Removes all bytes. An earlier view stays valid until the next `append`. */
  clear(): void;
}

/**
 * Memory that a cleared store keeps for reuse, in bytes. Thousands of idle streams each hold this much. A quota counts only
 * larger buffers.
 */
const KEPT_BYTES = 4096;

/** Maximum growth beyond what is needed, in bytes. A buffer of 8 MiB is then copied eight times in all. */
const MAX_GROWTH_BYTES = 1024 * 1024;

/** Creates an empty store. It allocates on the first append and frees large buffers when cleared. */
export function createByteStore(quota: ByteQuota | null = null): ByteStore {
  let buffer = new Uint8Array(0);
  /** The part of the buffer that the quota counts. */
  let reserved = 0;
  const reserve = (size: number): boolean => {
    if (quota === null || size <= KEPT_BYTES) return true;
    if (!quota.take(size - reserved)) return false;
    reserved = size;
    return true;
  };
  const store = {
    length: 0,
    append(bytes: Uint8Array, from: number, to: number) {
      const { length } = store;
      const needed = length + to - from;
      if (needed > buffer.length) {
        const size = Math.max(needed, buffer.length + Math.min(buffer.length, MAX_GROWTH_BYTES), 256);
        if (!reserve(size)) return false;
        const grown = new Uint8Array(size);
        grown.set(buffer.subarray(0, length));
        buffer = grown;
      }
      buffer.set(bytes.subarray(from, to), length);
      store.length = needed;
      return true;
    },
    view: () => buffer.subarray(0, store.length),
    clear() {
      if (buffer.length > KEPT_BYTES) buffer = new Uint8Array(0);
      quota?.release(reserved);
      reserved = 0;
      store.length = 0;
    },
  };
  return store;
}
