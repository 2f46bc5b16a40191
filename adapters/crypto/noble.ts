import { sha256 as nobleSha256 } from "@noble/hashes/sha2.js";
import type { Sha256 } from "../../core/hash.ts";

/** SHA-256 by `@noble/hashes`: plain JavaScript, for runtimes without `node:crypto`. */
export const sha256: Sha256 = (bytes) => nobleSha256(bytes);
