import type { Sha256 } from "../../values/hash.ts";
import { fromHex, hmacSha256 } from "../../values/hmac.ts";

/** Returns the form in which an id leaves this machine. */
export type IdHash = (id: string) => string;

/** The characters of a sent hash: half of an HMAC-SHA-256, which RFC 2104, section 5, allows as the shortest. */
const HASH_CHARACTERS = 32;

/**
 * Creates the hash of ids of sessions and agents: HMAC-SHA-256 with a key of this installation, 64 hexadecimal digits,
 * which never leaves the machine. The cloud can group by session, but the ids cannot be compared with those in a
 * provider's or a client's logs. Each id is hashed once, because many records of a batch have the same id.
 */
export function createIdHash(keyHex: string, sha256: Sha256): IdHash {
  const key = fromHex(keyHex);
  const encoder = new TextEncoder();
  const known = new Map<string, string>();
  return (id) => {
    const hashed = known.get(id) ?? hmacSha256(key, encoder.encode(id), sha256).slice(0, HASH_CHARACTERS);
    known.set(id, hashed);
    return hashed;
  };
}
