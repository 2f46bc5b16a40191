/** Default per-upload cap, bytes. Source: docs/specification.md#limits: per-upload cap 1 MiB, per body. */
export const UPLOAD_CAP_DEFAULT_BYTES = 1_048_576;

/** Highest per-upload cap, bytes: 1.4 MiB, so that the envelope in Base64 stays below the route's 2 MiB. Source: docs/specification.md#bodies. */
export const UPLOAD_CAP_MAX_BYTES = 1_468_006;

/** Clamps a configured cap to 1..1.4 MiB. Anything but a positive number means the default. */
export function clampUploadCap(configuredBytes: number): number {
  return configuredBytes >= 1
    ? Math.min(Math.floor(configuredBytes), UPLOAD_CAP_MAX_BYTES)
    : UPLOAD_CAP_DEFAULT_BYTES;
}

/** Returns the longest prefix of UTF-8 text that fits into `maxBytes` and splits no character. A view, not a copy. */
export function truncateUtf8(utf8: Uint8Array, maxBytes: number): Uint8Array {
  if (utf8.length <= maxBytes) return utf8;
  let end = Math.max(maxBytes, 0);
  // 10xxxxxx continues a character: move the cut before its first byte.
  while (end > 0 && (Number(utf8[end]) & 0xc0) === 0x80) end--;
  return utf8.subarray(0, end);
}

/** A body as it is sent. */
export interface FittedBody {
  readonly utf8: Uint8Array;
  /** Whether this cut or an earlier one removed anything. */
  readonly truncated: boolean;
  /** The size before redaction and any cut. */
  readonly originalSizeBytes: number;
}

/** Cuts a body to the cap. Never drops it, and keeps its original size. Source: docs/specification.md#body-uploader. */
export function fitBody(
  body: { readonly utf8: Uint8Array; readonly truncated: boolean; readonly originalSizeBytes: number },
  capBytes: number,
): FittedBody {
  const utf8 = truncateUtf8(body.utf8, capBytes);
  return {
    utf8,
    truncated: body.truncated || utf8.length < body.utf8.length,
    originalSizeBytes: body.originalSizeBytes,
  };
}
