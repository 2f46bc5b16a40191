/**
 * The most of a body that is kept to be read, in bytes. Contract, "Limits": bodies larger than 4 MiB are not captured
 * at all. A longer prompt has no `prompt_hash`; a longer stream is still read to its end.
 */
export const MAX_CAPTURED_BYTES = 4 * 1024 * 1024;

/**
 * Bytes kept up to a bound. Past it the bytes are let go and only their number is kept: half a JSON document is of no
 * use to anybody.
 */
export interface BodyBuffer {
  readonly totalBytes: number;
  append(bytes: Uint8Array): void;
  /** The bytes in one piece, or null where there were more than the bound. */
  bytes(): Uint8Array | null;
}

/** Small copies share their memory, since an allocation of its own costs each more than the copying. */
const SLAB_BYTES = 65_536;
const MAX_SHARED_BYTES = 8_192;
let slab = new Uint8Array(0);
let slabUsed = 0;

function copyOf(bytes: Uint8Array): Uint8Array {
  if (bytes.length > MAX_SHARED_BYTES) return bytes.slice();
  if (slabUsed + bytes.length > slab.length) {
    slab = new Uint8Array(SLAB_BYTES);
    slabUsed = 0;
  }
  const copy = slab.subarray(slabUsed, slabUsed + bytes.length);
  copy.set(bytes);
  slabUsed += bytes.length;
  return copy;
}

export function createBodyBuffer(maxBytes: number): BodyBuffer {
  let parts: Uint8Array[] = [];
  let totalBytes = 0;
  return {
    get totalBytes() {
      return totalBytes;
    },
    append(bytes) {
      totalBytes += bytes.length;
      // The view belongs to the caller after this call, so what is kept is a copy.
      if (totalBytes <= maxBytes) parts.push(copyOf(bytes));
      else parts = [];
    },
    bytes() {
      if (totalBytes > maxBytes) return null;
      if (parts.length === 1) return parts[0] as Uint8Array;
      const whole = new Uint8Array(totalBytes);
      let at = 0;
      for (const part of parts) {
        whole.set(part, at);
        at += part.length;
      }
      parts = [whole];
      return whole;
    },
  };
}
