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
      if (totalBytes <= maxBytes) parts.push(bytes.slice());
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
