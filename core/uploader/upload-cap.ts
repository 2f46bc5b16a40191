/** Default per-upload cap, bytes. Source: contract, "Limits": per-upload cap 1 MiB, per leg. */
export const UPLOAD_CAP_DEFAULT_BYTES = 1_048_576;

/** Highest per-upload cap, bytes: 1.4 MiB, so that the envelope in Base64 stays below the route's 2 MiB. Source: decisions, "Bodies". */
export const UPLOAD_CAP_MAX_BYTES = 1_468_006;

/** A configured cap brought into 1..1.4 MiB; what is not a positive number means the default. */
export function clampUploadCap(configuredBytes: number): number {
  return configuredBytes >= 1
    ? Math.min(Math.floor(configuredBytes), UPLOAD_CAP_MAX_BYTES)
    : UPLOAD_CAP_DEFAULT_BYTES;
}

/** The longest beginning of UTF-8 text that fits `maxBytes` and ends between two characters. A view, not a copy. */
export function truncateUtf8(utf8: Uint8Array, maxBytes: number): Uint8Array {
  if (utf8.length <= maxBytes) return utf8;
  let end = Math.max(maxBytes, 0);
  // 10xxxxxx continues a character: the cut stands before the byte that begins it.
  while (end > 0 && (Number(utf8[end]) & 0xc0) === 0x80) end--;
  return utf8.subarray(0, end);
}

/** A leg as it goes out. */
export interface FittedLeg {
  readonly utf8: Uint8Array;
  /** Whether this cut or an earlier one took anything away. */
  readonly truncated: boolean;
  /** The true size before redaction and every cut. */
  readonly originalSizeBytes: number;
}

/** Cuts a leg to the cap; never drops it, and keeps what is known of its true size. Source: contract, "Daemon body uploader". */
export function fitLeg(
  leg: { readonly utf8: Uint8Array; readonly truncated: boolean; readonly originalSizeBytes: number },
  capBytes: number,
): FittedLeg {
  const utf8 = truncateUtf8(leg.utf8, capBytes);
  return {
    utf8,
    truncated: leg.truncated || utf8.length < leg.utf8.length,
    originalSizeBytes: leg.originalSizeBytes,
  };
}
