import type { Sha256 } from "../hash.ts";
import type { Millis } from "../time.ts";
import { decodeBase64Url, encodeBase64Url } from "./base64.ts";
import { decodeStrictUtf8 } from "./utf8.ts";

/** The last entry of a page: where the next one goes on. */
export interface CursorPosition {
  readonly at: Millis;
  readonly id: string;
}

/** What a cursor is good for: one workspace and one query, the page size excepted. */
export interface CursorBinding {
  readonly workspaceId: string;
  /** The endpoint and every parameter that decides which entries are listed. Absent and `null` are the same. */
  readonly query: Readonly<Record<string, string | number | null | undefined>>;
}

const CHECK_BYTES = 12;

/**
 * Writes a cursor: opaque, usable in a URL, bound to workspace and query.
 *
 * Decision: the check is a plain hash, not a secret's. A cursor grants nothing: each page is authorised anew, and its
 * position can only move about in what the query lists anyway. The check finds mistakes, cursors of another workspace
 * or query among them.
 */
export function encodeCursor(position: CursorPosition, binding: CursorBinding, sha256: Sha256): string {
  const content = new TextEncoder().encode(JSON.stringify([position.at, position.id]));
  const bytes = new Uint8Array(CHECK_BYTES + content.length);
  bytes.set(checkOf(content, binding, sha256));
  bytes.set(content, CHECK_BYTES);
  return encodeBase64Url(bytes);
}

/** Reads a cursor; `null` where it was not written for this workspace and query, or was changed. */
export function decodeCursor(cursor: string, binding: CursorBinding, sha256: Sha256): CursorPosition | null {
  const bytes = decodeBase64Url(cursor);
  if (bytes === null || bytes.length <= CHECK_BYTES) return null;
  const content = bytes.subarray(CHECK_BYTES);
  const check = checkOf(content, binding, sha256);
  if (check.some((byte, at) => byte !== bytes[at])) return null;
  return positionOf(decodeStrictUtf8(content));
}

function checkOf(content: Uint8Array, { workspaceId, query }: CursorBinding, sha256: Sha256): Uint8Array {
  const parameters = Object.entries(query)
    .filter(([, value]) => value !== null && value !== undefined)
    .sort(([one], [other]) => (one < other ? -1 : 1));
  const head = new TextEncoder().encode(JSON.stringify([workspaceId, parameters]));
  const bytes = new Uint8Array(head.length + content.length);
  bytes.set(head);
  bytes.set(content, head.length);
  return sha256(bytes).subarray(0, CHECK_BYTES);
}

/** Someone can make a cursor with a right check; it must still be a position. */
function positionOf(text: string | null): CursorPosition | null {
  try {
    const parts: unknown = JSON.parse(text ?? "");
    if (!Array.isArray(parts) || parts.length !== 2) return null;
    const [at, id]: unknown[] = parts;
    return Number.isSafeInteger(at) && typeof id === "string" ? { at: at as number, id } : null;
  } catch {
    return null;
  }
}
