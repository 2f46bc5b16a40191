import { decodeLatin1 } from "../exchange/bytes.ts";

/** Maximum length of a field's value, in bytes. The fields of interest are single words. */
const MAX_VALUE_BYTES = 256;

const DASH = 0x2d;
const LF = 0x0a;

/**
 * Reads short fields of a `multipart/form-data` body (RFC 7578), the format of image and audio uploads. The boundary is taken
 * from the first line. Files are skipped, and the map omits fields that are missing or longer than 256 bytes. Returns null
 * for a body in another format.
 */
export function readFormFields(body: Uint8Array, names: readonly string[]): Map<string, string> | null {
  if (body[0] !== DASH || body[1] !== DASH) return null;
  const firstLine = body.subarray(0, 128).indexOf(LF);
  if (firstLine < 3) return null;
  const text = decodeLatin1(body);
  const boundary = text.slice(0, firstLine).trimEnd();
  const fields = new Map<string, string>();
  let at = 0;
  while (at !== -1) {
    const start = at + boundary.length;
    const head = text.indexOf("\r\n\r\n", start);
    if (head === -1) break;
    at = text.indexOf(`\r\n${boundary}`, head + 2);
    const end = at === -1 ? text.length : at;
    const name = /\bname="([^"]*)"/i.exec(text.slice(start, head))?.[1] ?? "";
    const value = head + 4;
    if (names.includes(name) && end > value && end - value <= MAX_VALUE_BYTES)
      fields.set(name, text.slice(value, end));
    if (at !== -1) at += 2;
  }
  return fields;
}
