import type { Sha256 } from "../../core/values/hash.ts";
import { hashText } from "../../core/values/hash-text.ts";

/** Returns the ETag of a text. */
export const etagOf = (text: string, sha256: Sha256): string => `"${hashText(text, sha256)}"`;

/** Compares ETags weakly, as a conditional GET does: compression may have made the tag weak. */
export function matchesEtag(header: string | undefined, etag: string): boolean {
  if (header === undefined) return false;
  return header.split(",").some((tag) => tag.trim() === "*" || tag.trim().replace(/^W\//, "") === etag);
}
