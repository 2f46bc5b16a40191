import type { Sha256 } from "../values/hash.ts";
import type { Millis } from "../values/time.ts";
import { decodeBase64Url, encodeBase64Url } from "./base64.ts";
import { decodeStrictUtf8 } from "./utf8.ts";

/** The last entry of a page. The next page starts after it. */
export interface CursorPosition {
  readonly at: Millis;
  readonly id: string;
}

/** The workspace and query that a cursor belongs to. The page size may differ between pages. */
export interface CursorBinding {
  readonly workspaceId: string;
  /** The endpoint and every parameter that selects entries. An absent parameter equals `null`. */
  readonly query: Readonly<Record<string, string | number | null | undefined>>;
}

const CHECKSUM_BYTES = 12;

/**
 * Encodes a cursor: opaque, URL-safe, and bound to a workspace and query.
 *
 * Decision: the checksum is a plain hash without a secret. A cursor grants no access: every page is authorised again, and
 * a forged position only selects among entries that the query lists anyway. The checksum catches mistakes, such as a
 * cursor of another workspace or query.
 */
export function encodeCursor(position: CursorPosition, binding: CursorBinding, sha256: Sha256): string {
  const content = new TextEncoder().encode(JSON.stringify([position.at, position.id]));
  const bytes = new Uint8Array(CHECKSUM_BYTES + content.length);
  bytes.set(cursorChecksum(content, binding, sha256));
  bytes.set(content, CHECKSUM_BYTES);
  return encodeBase64Url(bytes);
}

/** Decodes a cursor. Returns `null` if it belongs to another workspace or query, or was altered. */
export function decodeCursor(cursor: string, binding: CursorBinding, sha256: Sha256): CursorPosition | null {
  const bytes = decodeBase64Url(cursor);
  if (bytes === null || bytes.length <= CHECKSUM_BYTES) return null;
  const content = bytes.subarray(CHECKSUM_BYTES);
  const check = cursorChecksum(content, binding, sha256);
  if (check.some((byte, at) => byte !== bytes[at])) return null;
  return parsePosition(decodeStrictUtf8(content));
}

function cursorChecksum(
  content: Uint8Array,
  { workspaceId, query }: CursorBinding,
  sha256: Sha256,
): Uint8Array {
  const parameters = Object.entries(query)
    .filter(([, value]) => value !== null && value !== undefined)
    .sort(([one], [other]) => (one < other ? -1 : 1));
  const head = new TextEncoder().encode(JSON.stringify([workspaceId, parameters]));
  const bytes = new Uint8Array(head.length + content.length);
  bytes.set(head);
  bytes.set(content, head.length);
  return sha256(bytes).subarray(0, CHECKSUM_BYTES);
}

/** Parses a position. A caller can compute a valid checksum, so the content is checked too. */
function parsePosition(text: string | null): CursorPosition | null {
  try {
    const parts: unknown = JSON.parse(text ?? "");
    if (!Array.isArray(parts) || parts.length !== 2) return null;
    const [at, id]: unknown[] = parts;
    return Number.isSafeInteger(at) && typeof id === "string" ? { at: at as number, id } : null;
  } catch {
    return null;
  }
}
